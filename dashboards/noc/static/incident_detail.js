// One incident: what broke, since when, for whom, why it is that, what to do.
import { byId, setLines, setText } from "./dom.js";
import { drawPlots } from "./plots.js";
import { quantity } from "./quantities.js";
import { clock, count, headline, lost, when } from "./words.js";

let plotted = "";

export function drawDetail(incident) {
  setText(byId("detail-title"), headline(incident));
  setText(byId("since"), since(incident));
  const times = incident.occurrences > 1 ? `this incident has come ${incident.occurrences} times` : "";
  setText(byId("record"), [times, incident.record?.line].filter(Boolean).join(" · "));
  setLines(byId("blast"), blast(incident));
  setLines(byId("evidence"), incident.evidence.slice(0, 4).map(evidenceLine));
  setLines(byId("because"), [...incident.because.slice(0, 2), ...against(incident)]);
  setText(byId("action"), incident.action);
  setLines(byId("timeline"), incident.timeline.slice(0, 8).map((entry) => `${clock(entry.at)} ${entry.object.name}: ${entry.text}`));
  byId("missing-title").hidden = incident.missing.length === 0;
  setLines(byId("missing"), incident.missing);
  setText(byId("gaps"), incident.gaps.join(" · "));
  const version = `${incident.id}/${incident.updated}`;
  if (version !== plotted) {
    plotted = version;
    drawPlots(byId("plots"), incident);
  }
}

function since(incident) {
  const state = incident.state === "resolved" ? "" : `${incident.state} `;
  return (
    `${state}${when(incident)} · first symptom: ${incident.first_symptom}` +
    ` · confidence ${Math.round(incident.confidence * 100)} %` +
    (incident.order_known ? "" : " · the sampling interval is too long to know what came first")
  );
}

function blast({ blast: { links, nodes, gpus, jobs }, gpu_seconds }) {
  const counted = [[gpus, "GPU"], [nodes, "node"], [links, "link"], [jobs, "job"]].map(([of, noun]) => count(of.count, noun));
  return [...counted, lost(gpu_seconds)];
}

function evidenceLine({ value, normal, unit, series }) {
  const usual = normal === null ? "no normal learned yet" : `normal ${quantity(normal, unit)}`;
  return [["b", quantity(value, unit)], ["span", ` (${usual}) `], ["span", series, "small"]];
}

function against(incident) {
  if (incident.against.length) return incident.against;
  return incident.alternatives.slice(0, 2).map(
    (other) => `perhaps ${other.kind.replaceAll("_", " ")} at ${other.root.name} (${Math.round(other.confidence * 100)} %): ${other.reason}`,
  );
}
