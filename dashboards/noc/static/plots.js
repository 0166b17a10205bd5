// Evidence over time: one small line chart per series, with its normal value as a dashed line.
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
  title.textContent = `${plot.series} (${plot.unit})`;
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
    axes: [axis, { ...axis, size: size * 5 }],
    series: [{}, { stroke: "#5ec8f2", width: 2, points: { show: false } }, { stroke: "#7fe0b0", dash: [6, 6], points: { show: false } }],
    hooks: { draw: [(chart) => markOnset(chart, incident.onset_ns / 1e9)] },
  }, [plot.times, plot.values, normal], node);
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
