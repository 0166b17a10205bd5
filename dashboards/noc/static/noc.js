// The NOC page: its content once a second from the API, drawn with plain DOM calls. No telemetry is ever parsed as HTML.
import { drawPlots } from "./plots.js";

const SHAPES = { critical: "▲ CRITICAL", warning: "◆ WARNING", info: "● INFO" };
const DATA_AGE_MAX_S = 60;
const LISTED_MAX = 10;
const byId = (id) => document.getElementById(id);

let content = null;
let chosen = null; // the incident that a person clicked; null follows the worst one
let plotted = "";

const feed = new EventSource("/api/v1/stream");
feed.addEventListener("picture", (event) => {
  content = JSON.parse(event.data);
  draw();
});
feed.onerror = () => showVerdict("No connection to Fabricscope. Reconnecting…", "bad");
setInterval(tick, 1000);
tick();

function draw() {
  const open = content.incidents.filter((incident) => incident.state !== "resolved");
  const listed = [...open, ...content.incidents.filter((incident) => incident.state === "resolved")].slice(0, LISTED_MAX);
  const shown = content.incidents.find((incident) => incident.id === chosen) ?? listed[0] ?? null;
  const worst = open.filter((incident) => incident.state === "firing").length;
  showVerdict(open.length ? `${worst} firing, ${open.length - worst} pending` : "All quiet", open.length ? "bad" : "good");
  byId("targets").textContent = `${content.targets.up} / ${content.targets.all}`;
  for (const name of ["switches", "gpus", "jobs"]) byId(name).textContent = content.cluster[name];
  byId("quiet").hidden = listed.length > 0;
  byId("incidents").replaceChildren(...listed.map((incident) => listItem(incident, incident === shown)));
  byId("detail").hidden = shown === null;
  if (shown) drawDetail(shown);
  tick();
}

function listItem(incident, current) {
  const button = element("button", "", incident.state === "resolved" ? "resolved" : incident.severity);
  button.setAttribute("aria-current", String(current));
  button.append(
    element("span", incident.state === "resolved" ? "✓ RESOLVED" : SHAPES[incident.severity], "badge"),
    element("span", incident.title),
    element("span", `since ${clock(incident.onset_ns)} · ${lost(incident.gpu_seconds)}`, "small"),
  );
  button.addEventListener("click", () => {
    chosen = incident.id;
    draw();
    byId("incidents").querySelector("[aria-current=true]")?.focus();
  });
  const item = document.createElement("li");
  item.append(button);
  return item;
}

function drawDetail(incident) {
  byId("detail-title").textContent = incident.title;
  byId("since").textContent =
    `${incident.state} since ${clock(incident.onset_ns)} UTC · first symptom: ${incident.first_symptom}` +
    ` · confidence ${Math.round(incident.confidence * 100)} %` +
    (incident.order_known ? "" : " · the sampling interval is too long to know what came first");
  const times = incident.occurrences > 1 ? `this incident has come ${incident.occurrences} times` : "";
  byId("record").textContent = [times, incident.record?.line].filter(Boolean).join(" · ");
  const { links, nodes, gpus, jobs } = incident.blast;
  list("blast", [count(gpus, "GPU"), count(nodes, "node"), count(links, "link"), count(jobs, "job"), lost(incident.gpu_seconds)]);
  byId("evidence").replaceChildren(...incident.evidence.slice(0, 4).map(evidenceItem));
  const against = incident.against.length
    ? incident.against
    : incident.alternatives.slice(0, 2).map((other) => `perhaps ${readable(other.kind)} at ${other.root.name} (${Math.round(other.confidence * 100)} %): ${other.reason}`);
  list("because", [...incident.because.slice(0, 2), ...against]);
  byId("action").textContent = incident.action;
  list("timeline", incident.timeline.slice(0, 8).map((entry) => `${clock(entry.at_ns)} ${entry.object.name}: ${entry.text}`));
  byId("missing-title").hidden = incident.missing.length === 0;
  list("missing", incident.missing);
  byId("gaps").textContent = incident.gaps.join(" · ");
  const version = `${incident.id}/${incident.updated_ns}`;
  if (version !== plotted) {
    plotted = version;
    drawPlots(byId("plots"), incident);
  }
}

function evidenceItem(evidence) {
  const item = document.createElement("li");
  const normal = evidence.normal === null ? "no baseline yet" : `normal ${quantity(evidence.normal)}`;
  item.append(element("b", `${quantity(evidence.value)} ${evidence.unit}`), element("span", ` (${normal}) `), element("span", evidence.series, "small"));
  return item;
}

function tick() {
  byId("clock").textContent = new Date().toISOString().slice(11, 19);
  if (!content) return;
  const age_s = content.newest_ns ? Math.max(0, Math.round(Date.now() / 1000 - content.newest_ns / 1e9)) : null;
  byId("age").textContent = age_s === null ? "no data" : `${age_s} s`;
  byId("age").className = age_s === null || age_s > DATA_AGE_MAX_S ? "stale" : "";
}

function showVerdict(text, mood) {
  byId("verdict").textContent = text;
  byId("verdict").className = mood;
}

function list(id, lines) {
  byId(id).replaceChildren(...lines.map((line) => element("li", line)));
}

function element(tag, text, className = "") {
  const node = document.createElement(tag);
  node.textContent = text;
  node.className = className;
  return node;
}

const count = (objects, noun) => `${objects.length} ${noun}${objects.length === 1 ? "" : "s"}`;
const readable = (kind) => kind.replaceAll("_", " ");
const clock = (ns) => new Date(ns / 1e6).toISOString().slice(11, 19);
const quantity = (value) => Number(value.toPrecision(3)).toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
const lost = (seconds) => `${(seconds / 3600).toFixed(seconds < 36000 ? 2 : 0)} GPU-hours lost`;
