// From the cause of an incident to its cost, and the findings that it explains and so suppresses.
import { byId, setLines, setText } from "./dom.js";
import { kindInWords, refName, withNames } from "./names.js";
import { ask, time } from "./wire.js";
import { clock, count, lost } from "./words.js";

const EFFECTS = 3;

/** path: see ``source`` in replay.js. */
export const explanationOf = (incident, path) => ask(`${path}incidents/${encodeURIComponent(incident.id)}/explanation`);

/** explanation: null while it is not there. pages: whether it pages somebody; a replay does not.
 * lines: that there is room for, of the findings. */
export function drawExplanation(incident, explanation, pages, lines) {
  const gpus = explanation?.gpus ?? {};
  setLines(byId("chain"), chain(incident, explanation, gpus));
  const all = explanation?.findings ?? 0;
  const shown = explanation?.suppressed.slice(0, all > lines ? lines - 1 : lines) ?? [];
  byId("suppressed-title").hidden = all === 0;
  setText(byId("suppressed-title"), `${count(all, "finding")} explained by it, and so no page`);
  const more = all - shown.length;
  setLines(byId("paging"), explanation?.links ? paging(explanation.links, pages && incident.state !== "resolved") : []);
  setLines(byId("suppressed"), [...shown.map((one) => suppressed(one, gpus)), ...(more > 0 ? [`${more} more`] : [])]);
}

/** Where to go on from here. A silence and an acknowledgement are made where it paged: what is not there is said. */
function paging(links, open) {
  const silence = links.silence
    ? ["a", "Silence in Alertmanager ↗", "", elsewhere(links.silence)]
    : ["span", "Silence: where it paged, as no Alertmanager is set up here", "small"];
  return [
    ...(open ? [[silence], [["span", "Acknowledge where it paged: who is on it is not known here", "small"]]] : []),
    ...(links.board ? [[["a", "Board ↗", "", elsewhere(links.board)]]] : []),
    [["a", "Runbook ↗", "", elsewhere(links.runbook)]],
  ];
}

const elsewhere = (href) => ({ href, target: "_blank", rel: "noopener noreferrer" });

function chain(incident, explanation, gpus) {
  const kind = kindInWords(incident.kind);
  const all = explanation?.effects ?? [];
  const effects = all.slice(0, all.length > EFFECTS ? EFFECTS - 1 : EFFECTS);
  const rest = all.length - effects.length;
  const { links, nodes, gpus: gpuCount, jobs } = incident.reaches;
  return [
    link("Cause", explanation ? `${kind}: ${explanation.cause}` : kind, refName(incident.root, gpus)),
    link("First symptom", withNames(incident.first_symptom, gpus)),
    ...(effects.length ? [link("Then", ...effects.map(effect), ...(rest > 0 ? [`${count(rest, "more effect")}`] : []))] : []),
    link("Reaches", `${count(gpuCount, "GPU")}, ${count(nodes, "node")}`, `${count(links, "link")}, ${count(jobs, "job")}`),
    link("Cost so far", lost(incident.gpu_seconds)),
  ];
}

const link = (title, ...lines) => [["b", title], ...lines.map((line) => ["span", line])];

function effect(one) {
  return `${clock(time(one.onset))} ${one.meaning} (${count(one.objects, "object")})`;
}

function suppressed(one, gpus) {
  const over = one.cleared ? " ✓ over" : "";
  return `${clock(time(one.onset))} ${refName(one.object, gpus)} ${one.text}${over}`;
}
