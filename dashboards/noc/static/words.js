// What several parts of the page say in the same words.
/** Seconds since the Unix epoch of a time as the API writes it, RFC 3339. */
export const secondsOf = (time) => Date.parse(time) / 1e3;
export const clock = (time) => new Date(time).toISOString().slice(11, 19);
export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

export function lost(seconds) {
  if (seconds < 36) return "no GPU time lost";
  return `${(seconds / 3600).toFixed(seconds < 36000 ? 2 : 0)} GPU-hours lost`;
}

function lasted(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** The severity stands beside it in words and colour. */
export const headline = (incident) => incident.title.replace(/^\[(CRIT|WARN|INFO)\] /, "");

/** ``since 13:40:00``; of one that is over when that was, and how long it lasted. */
export function when(incident) {
  if (incident.state !== "resolved") return `since ${clock(incident.onset)}`;
  const seconds = secondsOf(incident.resolved) - secondsOf(incident.onset);
  return `resolved at ${clock(incident.resolved)} after ${lasted(seconds)}`;
}
