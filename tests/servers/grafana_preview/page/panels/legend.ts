import { LegendDisplayMode, type VizLegendOptions } from '@grafana/schema';
import type { Panel } from '../document';

/** The panel's legend, with what Grafana fills in where a board says nothing. */
export function legendOptions(panel: Panel): VizLegendOptions {
  return {
    showLegend: true,
    displayMode: LegendDisplayMode.List,
    placement: 'bottom',
    calcs: [],
    ...panel.options.legend,
  };
}
