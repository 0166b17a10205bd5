import type { DataFrame, GrafanaTheme2, InterpolateFunction, TimeRange } from '@grafana/data';
import type { Annotation, Panel } from '../document';

/** What a panel is drawn from: its frames are configured, its size is that inside its frame. */
export interface PanelProps {
  panel: Panel;
  frames: DataFrame[];
  annotations: Annotation[];
  range: TimeRange;
  width: number;
  height: number;
  theme: GrafanaTheme2;
  replaceVariables: InterpolateFunction;
}
