// What several parts of the page say in the same words.
export const SHAPES = { critical: "▲", warning: "◆", info: "●" };
export const clock = (ms) => new Date(ms).toISOString().slice(11, 19);
export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

export function lost(seconds) {
  if (seconds < 36) return "no GPU time lost";
  return `${(seconds / 3600).toFixed(seconds < 36000 ? 2 : 0)} GPU-hours lost`;
}

export function lasted(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** The severity stands beside it in words and colour. */
export const headline = (incident) => incident.title.replace(/^\[(CRIT|WARN|INFO)\] /, "");

/** ``since 13:40:00``; of one that is over when that was, and how long it lasted. */
export function when(incident) {
  if (incident.state !== "resolved") return `since ${clock(incident.onset)}`;
  return `resolved at ${clock(incident.resolved)} after ${lasted((incident.resolved - incident.onset) / 1e3)}`;
}

const SIDES = { higher: "▲ higher is worse", lower: "▼ lower is worse" };

/** On which side a value is bad, '' where that is not known. */
export const side = (worse) => SIDES[worse] ?? "";
