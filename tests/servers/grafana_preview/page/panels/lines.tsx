import type { GrafanaTheme2 } from '@grafana/data';
import { TimeSeries, type UPlotConfigBuilder } from '@grafana/ui';
import { useLayoutEffect } from 'react';
import type { Annotation } from '../document';
import { TIME_ZONE } from '../fields';
import { legendOptions } from './legend';
import type { PanelProps } from './props';

/** Values over time. */
export function Lines({ panel, frames, annotations, range, width, height, theme }: PanelProps) {
  return (
    <TimeSeries
      frames={frames}
      structureRev={1}
      timeRange={range}
      timeZone={TIME_ZONE}
      width={width}
      height={height}
      legend={legendOptions(panel)}
      options={panel.options}
    >
      {(config) => <Marks config={config} annotations={annotations} theme={theme} />}
    </TimeSeries>
  );
}

// As Grafana: lines at both ends, a tenth of the colour between them, and a mark below.
const FILL = 0.1;
const MARK_PX = 5;

interface MarksProps {
  config: UPlotConfigBuilder;
  annotations: Annotation[];
  theme: GrafanaTheme2;
}

/** Annotations over a plot. Grafana's own code for it is in none of its packages. */
function Marks({ config, annotations, theme }: MarksProps) {
  useLayoutEffect(() => {
    config.addHook('draw', (plot) => {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height + MARK_PX);
      ctx.clip();
      ctx.lineWidth = 2;
      ctx.setLineDash([5, 5]);
      for (const { colour, regions } of annotations) {
        ctx.fillStyle = ctx.strokeStyle = theme.visualization.getColorByName(colour);
        for (const { fromMs, toMs } of regions) {
          const [from, to] = [fromMs, toMs].map((ms) => plot.valToPos(ms, 'x', true));
          ctx.globalAlpha = FILL;
          ctx.fillRect(from, bbox.top, to - from, bbox.height);
          ctx.globalAlpha = 1;
          ctx.fillRect(from - MARK_PX / 2, bbox.top + bbox.height, Math.max(MARK_PX, to - from), MARK_PX);
          for (const edge of new Set([from, to])) {
            ctx.beginPath();
            ctx.moveTo(edge, bbox.top);
            ctx.lineTo(edge, bbox.top + bbox.height);
            ctx.stroke();
          }
        }
      }
      ctx.restore();
    });
  }, [config, annotations, theme]);
  return null;
}
