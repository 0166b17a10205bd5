// Evidence over time: one small line chart per series, with what was normal before the incident began.
//
// Normal is never taken from the time of the fault: up to the onset it is a filled band and a dashed line, after it both
// are held, as an outline, so that what the fault made of the series stands out against it.
import { seriesName } from "./names.js";
import { quantity } from "./quantities.js";
import { ask, plot as read, time } from "./wire.js";
import { side } from "./words.js";

const PLOTS_MAX = 3;
const BEFORE_MIN = 5; // values before the onset that make a band
const BEFORE = [0.05, 0.95]; // one value in ten may be a spike
let shown = null;

/** explained: gives the newest explanation, which knows names and directions. */
export async function drawPlots(container, incident, explained) {
  const answer = await ask(`incidents/${encodeURIComponent(incident.id)}/plots`);
  if (answer === null) return;
  const plots = answer.map(read).filter((plot) => plot.times.length > 1).slice(0, PLOTS_MAX);
  shown = { container, incident, plots, explained };
  draw();
}

function draw() {
  if (shown === null) return;
  const { container, incident, plots, explained } = shown;
  const { of, explanation } = explained();
  const known = of === incident.id ? explanation : null;
  const onset = incident.onset / 1e3;
  // What it explains may have begun earlier than what speaks for its cause: that is not normal either.
  const began = Math.min(onset, ...(known?.effects ?? []).map((effect) => time(effect.onset) / 1e3));
  const drawings = plots.map((plot) => {
    const worse = known?.worse[incident.evidence.findIndex((one) => one.series === plot.series)];
    return { plot, onset, began, before: range(plot, began), worse, gpus: known?.gpus ?? {} };
  });
  container.replaceChildren(...drawings.map(frame));
  [...container.children].forEach((node, at) => chart(node, drawings[at]));
}

document.documentElement.addEventListener("theme", draw);
document.getElementById("plots").addEventListener("explained", draw);

/** Between which values a series was before it began; null where too few are known. */
function range({ times, values }, began) {
  const known = values.filter((value, at) => times[at] < began && value !== null).sort((a, b) => a - b);
  return known.length < BEFORE_MIN ? null : BEFORE.map((share) => known[Math.round(share * (known.length - 1))]);
}

const unitOf = (plot) => plot.unit.split(" ")[0];

function frame({ plot, before, worse, gpus }) {
  const node = document.createElement("div");
  node.className = "plot";
  node.setAttribute("role", "img");
  const title = document.createElement("h3");
  title.textContent = seriesName(plot.series, gpus);
  const legend = document.createElement("p");
  legend.textContent = [side(worse), normalText(plot, before), "red: onset"].filter(Boolean).join(" · ");
  node.setAttribute("aria-label", `${title.textContent}: ${legend.textContent}`);
  node.append(title, legend);
  return node;
}

function normalText(plot, before) {
  const learned = plot.normal === null ? "" : `dashes: normal ${quantity(plot.normal, unitOf(plot))}`;
  if (before === null) return learned || "nothing is known of before";
  const [low, high] = before.map((value) => quantity(value, unitOf(plot)));
  return [`band: before, ${low === high ? low : `${low} to ${high}`}`, learned].filter(Boolean).join(" · ");
}

function chart(node, drawing) {
  const { plot, before } = drawing;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const size = parseFloat(style.fontSize);
  const axis = { stroke: colour("quiet"), grid: { stroke: colour("line") }, ticks: { stroke: colour("line") }, font: `${Math.round(size * 0.85)}px system-ui` };
  const used = [...node.children].reduce((sum, child) => sum + child.offsetHeight, 0);
  const marks = [...(before ?? []), ...(plot.normal === null ? [] : [plot.normal])];
  new uPlot({
    width: node.clientWidth,
    height: Math.max(6 * size, node.clientHeight - used),
    legend: { show: false },
    cursor: { show: false },
    padding: [null, size * 2.5, null, null],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
    scales: { y: { range: (_, low, high) => padded([low, high, ...marks].filter((value) => value !== null)) } },
    axes: [
      { ...axis, values: (_, times) => times.map((seconds) => new Date(seconds * 1e3).toISOString().slice(11, 19)), space: size * 6 },
      { ...axis, size: (_, labels) => size * (1.5 + 0.5 * Math.max(0, ...(labels ?? []).map((label) => label.length))), values: (_, values) => values.map((value) => quantity(value, unitOf(plot))) },
    ],
    series: [{}, { stroke: colour("value"), width: 2, points: { show: false } }],
    hooks: { drawAxes: [(on) => markNormal(on, drawing, colour("good"))], draw: [(on) => markOnset(on, drawing.onset, colour("critical"))] },
  }, [plot.times, plot.values], node);
}

function padded(values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

function markNormal(on, { plot, began, before }, colour) {
  const { ctx, bbox: { left, width } } = on;
  const right = left + width;
  const split = Math.min(right, Math.max(left, on.valToPos(began, "x", true)));
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = 2;
  if (before !== null) {
    const [bottom, top] = before.map((value) => on.valToPos(value, "y", true));
    ctx.globalAlpha = 0.25;
    ctx.fillRect(left, top - 2, split - left, bottom - top + 4);
    ctx.globalAlpha = 0.8;
    ctx.setLineDash([2, 6]);
    for (const y of [top - 2, bottom + 2]) line(ctx, split, y, right, y);
  }
  if (plot.normal !== null) {
    const y = on.valToPos(plot.normal, "y", true);
    ctx.globalAlpha = 1;
    ctx.setLineDash([12, 6]);
    line(ctx, left, y, split, y);
    ctx.globalAlpha = 0.6;
    ctx.setLineDash([4, 12]);
    line(ctx, split, y, right, y);
  }
  ctx.restore();
}

function markOnset(on, onset, colour) {
  const x = on.valToPos(onset, "x", true);
  const { left, top, width, height } = on.bbox;
  if (x < left || x > left + width) return;
  on.ctx.save();
  on.ctx.strokeStyle = colour;
  on.ctx.lineWidth = 2;
  line(on.ctx, x, top, x, top + height);
  on.ctx.restore();
}

function line(ctx, fromX, fromY, toX, toY) {
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(toX, toY);
  ctx.stroke();
}
