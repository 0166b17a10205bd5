// The NOC page: its content once a second from the API, drawn with plain DOM calls. No telemetry is ever parsed as HTML.
import { byId, setText } from "./dom.js";
import { drawDetail } from "./incident_detail.js";
import { drawList, listed } from "./incident_list.js";
import { leaveLink, linked } from "./linked.js";
import { loadAgain } from "./session.js";

const SILENT_MAX_S = 15; // the state of the data is sent every five seconds

let content = null;
let data = null; // whether there is data to rely on, as of `heard_s` by the clock of this page
let heard_s = 0;
let chosen = null; // the incident that a person clicked; null follows the worst one

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
  if (feed.readyState === EventSource.CLOSED) loadAgain();
};
byId("incidents").addEventListener("more", draw);
addEventListener("hashchange", () => content && draw());
setInterval(tick, 1000);
tick();

function draw() {
  const { incidents, cluster, firing, pending } = content;
  const link = linked(incidents, draw);
  const own = incidents.find((incident) => incident.id === chosen) ?? listed(incidents)[0] ?? null;
  const shown = link.names ? link.incident : own;
  for (const name of ["switches", "gpus", "jobs"]) setText(byId(name), String(cluster[name]));
  drawList(incidents, shown, firing + pending, (id) => {
    chosen = id;
    leaveLink();
    draw();
  });
  byId("detail").hidden = shown === null;
  if (shown) drawDetail(shown);
  tick();
}

function tick() {
  setText(byId("clock"), new Date().toISOString().slice(11, 19));
  if (!data) return;
  setText(byId("age"), data.age_s === null ? "no data" : `${Math.round(data.age_s)} s`);
  setText(byId("targets"), `${data.up} / ${data.all}`);
  const silent_s = performance.now() / 1000 - heard_s;
  if (silent_s > SILENT_MAX_S) showMissing(`Fabricscope has not answered for ${Math.round(silent_s)} s`);
  else if (data.level === "missing") showMissing(data.text);
  else showPresent();
}

/** Nobody knows how the cluster is: that is louder than any incident, and never green. */
function showMissing(text) {
  setText(byId("missing-data"), text);
  byId("missing-data").hidden = false;
  byId("quiet").hidden = true;
  showVerdict(openCount() || "State unknown", "bad");
}

function showPresent() {
  const open = openCount();
  byId("missing-data").hidden = true;
  byId("quiet").hidden = !content || content.incidents.length > 0;
  setText(byId("quiet"), `No incident. ${data.up} of ${data.all} targets answer.`);
  showVerdict(open || (data.level === "good" ? "All quiet" : `Quiet, but ${data.text}`), open ? "bad" : data.level);
}

function showVerdict(text, mood) {
  setText(byId("verdict"), text);
  byId("verdict").className = mood;
}

function openCount() {
  return content?.firing || content?.pending ? `${content.firing} firing, ${content.pending} pending` : "";
}
