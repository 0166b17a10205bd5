// Evidence over time: one small line chart per series, with its normal value as a dashed line.
import { quantity } from "./quantities.js";
import { secondsOf } from "./words.js";

const PLOTS_MAX = 3;

export async function drawPlots(container, incident) {
  const answer = await fetch(`/api/v1/incidents/${encodeURIComponent(incident.id)}/plots`);
  if (!answer.ok) return;
  const plots = (await answer.json()).filter((plot) => plot.times.length > 1).slice(0, PLOTS_MAX);
  container.replaceChildren(...plots.map(frame));
  for (const [index, node] of [...container.children].entries()) draw(node, plots[index], incident);
}

function frame(plot) {
  const node = document.createElement("div");
  node.className = "plot";
  const title = document.createElement("h3");
  title.textContent = plot.series;
  node.append(title);
  return node;
}

function draw(node, plot, incident) {
  const size = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const axis = { stroke: "#a9b6cc", grid: { stroke: "#2a3650" }, ticks: { stroke: "#2a3650" }, font: `${Math.round(size * 0.85)}px system-ui` };
  const normal = plot.times.map(() => plot.normal);
  new uPlot({
    width: node.clientWidth,
    height: node.clientHeight - node.firstChild.offsetHeight,
    legend: { show: false },
    cursor: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
    axes: [
      { ...axis, values: (_, times) => times.map((seconds) => new Date(seconds * 1e3).toISOString().slice(11, 19)), space: size * 6 },
      { ...axis, size: (_, labels) => size * (1.5 + 0.5 * Math.max(0, ...(labels ?? []).map((label) => label.length))), values: (_, values) => values.map((value) => quantity(value, plot.unit.split(" ")[0])) },
    ],
    series: [{}, { stroke: "#5ec8f2", width: 2, points: { show: false } }, { stroke: "#7fe0b0", dash: [6, 6], points: { show: false } }],
    hooks: { draw: [(chart) => markOnset(chart, secondsOf(incident.onset))] },
  }, [plot.times.map(secondsOf), plot.values, normal], node);
}

function markOnset(chart, onset_s) {
  const x = chart.valToPos(onset_s, "x", true);
  const { left, top, width, height } = chart.bbox;
  if (x < left || x > left + width) return;
  chart.ctx.save();
  chart.ctx.strokeStyle = "#ff8a80";
  chart.ctx.lineWidth = 2;
  chart.ctx.beginPath();
  chart.ctx.moveTo(x, top);
  chart.ctx.lineTo(x, top + height);
  chart.ctx.stroke();
  chart.ctx.restore();
}
