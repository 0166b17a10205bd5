// What the API sends, in the page's own form. Only this file knows how times and lists are written there.
// Times of the page are milliseconds since the Unix epoch; null is never.

/** Of `name`: an RFC 3339 text, or nanoseconds in `name_ns`, where 0 is never. */
export function time(record, name) {
  const text = record[name];
  if (typeof text === "string") return Date.parse(text);
  return record[`${name}_ns`] ? record[`${name}_ns`] / 1e6 : null;
}

/** How many: of a list of names, or of one that the API has cut short. */
const counted = (names) => names.count ?? names.length;

export function incident(record) {
  const { links, nodes, gpus, jobs } = record.blast;
  return {
    ...record,
    onset: time(record, "onset"),
    opened: time(record, "opened"),
    updated: time(record, "updated"),
    fired: time(record, "fired"),
    resolved: time(record, "resolved"),
    reaches: { links: counted(links), nodes: counted(nodes), gpus: counted(gpus), jobs: counted(jobs) },
    timeline: record.timeline.map((entry) => ({ ...entry, at: time(entry, "at") })),
  };
}

export const picture = (sent) => ({ ...sent, incidents: sent.incidents.map(incident) });

/** Times in seconds, as plots need them. */
export const plot = (sent) => ({ ...sent, times: sent.times.map((at) => (typeof at === "string" ? Date.parse(at) / 1e3 : at)) });

/** The JSON at a path of the API, or null where it does not answer with some. */
export async function ask(path) {
  try {
    const answer = await fetch(`/api/v1/${path}`);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null; // the stream says that there is no connection
  }
}
