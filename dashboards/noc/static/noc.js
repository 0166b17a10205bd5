// The NOC page: its content once a second from the API, drawn with plain DOM calls. No telemetry is ever parsed as HTML.
import { byId, setText } from "./dom.js";
import { refreshFabric } from "./fabric.js";
import { drawDetail, refreshDetail } from "./incident_detail.js";
import { drawList, listed } from "./incident_list.js";
import { leaveLink, linked } from "./linked.js";
import { refreshOverview } from "./overview.js";
import { offerReplays, replayed, source } from "./replay.js";
import { loadAgain } from "./session.js";
import { picture } from "./wire.js";

const SILENT_MAX_S = 15; // the state of the data is sent every five seconds
const REFRESH_S = 4; // what is not in the stream is asked for as often as that state is sent, while there is a stream

let content = null;
let data = null; // whether there is data to rely on, as of `heard_s` by the clock of this page
let heard_s = 0;
let refreshed_s = -Infinity;
let chosen = null; // the incident that a person clicked; null follows the worst one

const feed = new EventSource("/api/v1/stream");
feed.addEventListener("picture", (event) => {
  content = picture(JSON.parse(event.data));
  draw();
});
feed.addEventListener("data", (event) => {
  data = JSON.parse(event.data);
  heard_s = performance.now() / 1000;
  tick();
  if (heard_s - refreshed_s >= REFRESH_S) refresh();
});
feed.onerror = () => {
  data = null;
  showMissing("No connection to Fabricscope. Reconnecting…");
  if (feed.readyState === EventSource.CLOSED) loadAgain();
};
byId("incidents").addEventListener("more", draw);
addEventListener("hashchange", draw);
byId("replay").addEventListener("input", () => {
  chosen = null;
  draw();
  refreshFabric(source());
});
setInterval(tick, 1000);
tick();

async function refresh() {
  refreshed_s = performance.now() / 1000;
  if (!byId("detail").hidden) refreshDetail(source());
  const [overview] = await Promise.all([refreshOverview(), refreshFabric(source())]);
  if (overview) offerReplays(overview.replays);
  if (!overview?.at) refreshed_s = -Infinity; // nothing was there yet
}

function draw() {
  if (!content) return;
  const of = replayed() ?? content;
  const { incidents, firing, pending } = of;
  const link = of === content ? linked(incidents, draw) : { names: false };
  const own = incidents.find((incident) => incident.id === chosen) ?? listed(incidents)[0] ?? null;
  const shown = link.names ? link.incident : own;
  for (const name of ["switches", "gpus", "jobs"]) setText(byId(name), String(content.cluster[name]));
  drawList(incidents, shown, firing + pending, (id) => {
    chosen = id;
    leaveLink();
    draw();
  });
  byId("detail").hidden = shown === null;
  document.body.classList.toggle("quiet", shown === null);
  document.body.classList.toggle("replaying", of !== content);
  if (shown) drawDetail(shown, source());
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
  byId("quiet").hidden = replayed() !== null || !content || content.incidents.length > 0;
  setText(byId("quiet"), `No incident. ${data.up} of ${data.all} targets answer.`);
  showVerdict(open || (data.level === "good" ? "All quiet" : `Quiet, but ${data.text}`), open ? "bad" : data.level);
}

function showVerdict(text, mood) {
  const replay = replayed();
  setText(byId("verdict"), replay ? `Replay, not live: ${counts(replay)}` : text);
  byId("verdict").className = replay ? "partial" : mood;
}

const openCount = () => (content?.firing || content?.pending ? counts(content) : "");

const counts = ({ firing, pending }) => `${firing} firing, ${pending} pending`;
