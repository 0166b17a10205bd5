// The NOC page: its content once a second from the API, drawn with plain DOM calls. No telemetry is ever parsed as HTML.
import { drawPlots } from "./plots.js";
import { quantity } from "./quantities.js";

const SHAPES = { critical: "▲ CRITICAL", warning: "◆ WARNING", info: "● INFO" };
const SILENT_MAX_S = 15; // the state of the data is sent every five seconds
const LISTED_MAX = 10;
const byId = (id) => document.getElementById(id);

let content = null;
let data = null; // what is known of the data, and when that was said, by the clock of this page
let heard_s = 0;
let chosen = null; // the incident that a person clicked; null follows the worst one
let plotted = "";

const feed = new EventSource("/api/v1/stream");
feed.addEventListener("picture", (event) => {
  content = JSON.parse(event.data);
  draw();
});
feed.addEventListener("data", (event) => {
  data = JSON.parse(event.data);
  heard_s = performance.now() / 1000;
  tick();
});
feed.onerror = () => {
  data = null;
  showMissing("No connection to Fabricscope. Reconnecting…");
};
setInterval(tick, 1000);
tick();

function draw() {
  const open = content.incidents.filter((incident) => incident.state !== "resolved");
  const listed = [...open, ...content.incidents.filter((incident) => incident.state === "resolved")].slice(0, LISTED_MAX);
  const shown = content.incidents.find((incident) => incident.id === chosen) ?? listed[0] ?? null;
  for (const name of ["switches", "gpus", "jobs"]) byId(name).textContent = content.cluster[name];
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
  const normal = evidence.normal === null ? "no normal learned yet" : `normal ${quantity(evidence.normal, evidence.unit)}`;
  item.append(element("b", quantity(evidence.value, evidence.unit)), element("span", ` (${normal}) `), element("span", evidence.series, "small"));
  return item;
}

function tick() {
  byId("clock").textContent = new Date().toISOString().slice(11, 19);
  if (!data) return;
  const silent_s = performance.now() / 1000 - heard_s;
  byId("age").textContent = data.age_s === null ? "no data" : `${Math.round(data.age_s)} s`;
  byId("targets").textContent = `${data.up} / ${data.all}`;
  if (silent_s > SILENT_MAX_S) showMissing(`Fabricscope has not answered for ${Math.round(silent_s)} s`);
  else if (data.level === "missing") showMissing(data.text);
  else showPresent();
}

/** Nobody knows how the cluster is: that is louder than any incident, and never green. */
function showMissing(text) {
  byId("missing-data").textContent = text;
  byId("missing-data").hidden = false;
  byId("verdict").textContent = openCount() || "State unknown";
  byId("verdict").className = "bad";
  byId("quiet").hidden = true;
}

function showPresent() {
  const open = openCount();
  byId("missing-data").hidden = true;
  byId("verdict").textContent = open || (data.level === "good" ? "All quiet" : `Quiet, but ${data.text}`);
  byId("verdict").className = open ? "bad" : data.level;
  byId("quiet").hidden = !content || content.incidents.length > 0;
  byId("quiet").textContent = `No incident. ${data.up} of ${data.all} targets answer.`;
}

function openCount() {
  const open = content?.incidents.filter((incident) => incident.state !== "resolved") ?? [];
  const firing = open.filter((incident) => incident.state === "firing").length;
  return open.length ? `${firing} firing, ${open.length - firing} pending` : "";
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
const lost = (seconds) => `${(seconds / 3600).toFixed(seconds < 36000 ? 2 : 0)} GPU-hours lost`;
