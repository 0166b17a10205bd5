// What the API sends, in the page's own form. Only this file knows how times and lists are written there.
// Times of the page are milliseconds since the Unix epoch; null is never.

/** Of an RFC 3339 text or null. */
export const time = (text) => (text === null ? null : Date.parse(text));

export function incident(record) {
  const { links, nodes, gpus, jobs } = record.blast;
  return {
    ...record,
    onset: time(record.onset),
    opened: time(record.opened),
    updated: time(record.updated),
    fired: time(record.fired),
    resolved: time(record.resolved),
    reaches: { links: links.count, nodes: nodes.count, gpus: gpus.count, jobs: jobs.count },
    timeline: record.timeline.map((entry) => ({ ...entry, at: time(entry.at) })),
  };
}

export const picture = (sent) => ({ ...sent, incidents: sent.incidents.map(incident) });

/** Times in seconds, as plots need them. */
export const plot = (sent) => ({ ...sent, times: sent.times.map((at) => Date.parse(at) / 1e3) });

/** The JSON at a path of the API, or null where it does not answer with some. */
export async function ask(path) {
  try {
    const answer = await fetch(`/api/v1/${path}`);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null; // the stream says that there is no connection
  }
}
