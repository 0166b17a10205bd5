// One incident: what broke, since when, for whom, why it is that, what to do.
import { byId, setLines, setText } from "./dom.js";
import { drawExplanation, explanationOf } from "./explanation.js";
import { askForEvents, drawEvents } from "./incident_events.js";
import { kindInWords, refName, seriesName, withNames } from "./names.js";
import { cutPlots, drawPlots } from "./plots.js";
import { quantity } from "./quantities.js";
import { clock, count, headline, lost, side, when } from "./words.js";

const EVIDENCE = 3;
const LINES = 3; // of the timeline, of events and of what it suppresses, at most: as many as there is room for
const BECAUSE = 2;
const LOAD = "operations/s"; // is compared with what others of the same kind are asked for meanwhile, not with before
const columns = [...document.querySelectorAll(".columns > div")];
let drawn = null;
let drawnVersion = "";
let pages = true;
let explained = { of: "", explanation: null };

/** source: where the page asks for the rest of it, and as of when; see replay.js. */
export function drawDetail(incident, source) {
  pages = source.at === null;
  drawTexts(incident);
  refreshDetail(source);
  cutPlots(source.at);
  const version = `${source.path}/${incident.id}/${incident.updated}`;
  if (version === drawnVersion) return;
  drawnVersion = version;
  drawPlots(byId("plots"), incident, () => explained, source.path);
  explain(incident, source.path);
}

/** What goes on while nothing of the incident changes. */
export function refreshDetail(source) {
  askForEvents(drawn, source, () => drawTexts(drawn));
}

async function explain(incident, path) {
  const explanation = await explanationOf(incident, path);
  if (!drawnVersion.startsWith(`${path}/${incident.id}/`)) return; // another one was chosen meanwhile
  explained = { of: incident.id, explanation };
  drawTexts(incident);
  byId("plots").dispatchEvent(new Event("explained"));
}

function drawTexts(incident) {
  drawn = incident;
  const explanation = explained.of === incident.id ? explained.explanation : null;
  const gpus = explanation?.gpus ?? {};
  setText(byId("detail-title"), withNames(headline(incident), gpus));
  setText(byId("since"), withNames(since(incident), gpus));
  const times = incident.occurrences > 1 ? `this incident has come ${incident.occurrences} times` : "";
  setText(byId("record"), [times, incident.record?.line].filter(Boolean).join(" · "));
  setLines(byId("blast"), blast(incident));
  setLines(byId("evidence"), incident.evidence.slice(0, EVIDENCE).map((one, at) => evidenceLine(one, explanation?.worse[at], gpus)));
  setLines(byId("because"), incident.because.slice(0, BECAUSE).map((text) => withNames(text, gpus)));
  const against = rivals(incident, gpus).map((text) => withNames(text, gpus));
  byId("against-title").hidden = against.length === 0;
  setLines(byId("against"), against);
  setText(byId("action"), withNames(incident.action, gpus));
  byId("missing-title").hidden = incident.missing.length === 0;
  setLines(byId("missing"), incident.missing);
  setText(byId("gaps"), incident.gaps.length ? `Data gaps: ${incident.gaps.join(" · ")}` : "");
  for (let lines = LINES; lines > 0; lines -= 1) {
    drawTimeline(incident, gpus, lines);
    drawEvents(gpus, lines);
    drawExplanation(incident, explanation, pages, lines);
    if (columns.every((node) => node.scrollHeight <= node.clientHeight + 1)) return;
  }
}

function drawTimeline(incident, gpus, lines) {
  const shown = incident.timeline.slice(0, lines).map((entry) => timelineEntry(entry, gpus));
  const later = incident.timeline.length - shown.length;
  setLines(byId("timeline"), [...shown, ...(later > 0 ? [`${later} more`] : [])]);
}

function since(incident) {
  const state = incident.state === "resolved" ? "" : `${incident.state} `;
  return (
    `${state}${when(incident)} · confidence ${Math.round(incident.confidence * 100)} %` +
    (incident.order_known ? "" : " · the sampling interval is too long to know what came first")
  );
}

function blast({ reaches: { links, nodes, gpus, jobs }, gpu_seconds }) {
  return [count(gpus, "GPU"), count(nodes, "node"), count(links, "link"), count(jobs, "job"), lost(gpu_seconds)];
}

/** Most texts name their object; it is not said twice. */
function timelineEntry({ at, object, text }, gpus) {
  const [name, said] = [refName(object, gpus), withNames(text, gpus)];
  return said.includes(name) ? `${clock(at)} ${said}` : `${clock(at)} ${name}: ${said}`;
}

function evidenceLine({ value, normal, unit, series }, worse, gpus) {
  const of = unit === LOAD ? "others at that time" : "normal";
  const usual = normal === null ? "no normal learned yet" : `${of} ${quantity(normal, unit)}`;
  return [
    ["b", quantity(value, unit)],
    ["span", ` (${usual}) `],
    ["span", [side(worse), seriesName(series, gpus)].filter(Boolean).join(" · "), "small"],
  ];
}

/** The next two hypotheses, each with what speaks for it and then what speaks against it, and what else it is not. */
function rivals({ root: own, where: ownName, alternatives, against }, gpus) {
  const rest = [...against];
  const said = alternatives.slice(0, 2).map(({ kind, root, confidence, reason }) => {
    const words = kindInWords(kind);
    const name = root.name === own.name && ownName ? ownName : refName(root, gpus);
    const heads = ["", ` at ${root.name}`, ` at ${name}`].map((where) => `not ${words}${where}: `);
    const at = rest.findIndex((text) => heads.some((head) => text.startsWith(head)));
    const [objection] = at < 0 ? [] : rest.splice(at, 1);
    const but = objection ? `; against it: ${objection.slice(objection.indexOf(": ") + 2)}` : "";
    return `${words} at ${name} (${Math.round(confidence * 100)} %), for it: ${reason}${but}`;
  });
  return [...said, ...rest];
}
