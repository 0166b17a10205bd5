import { TableNG } from '@grafana/ui/unstable';
import type { PanelProps } from './props';

/** One row a series; of several frames the first, as in Grafana. */
export function Rows({ panel, frames, range, width, height }: PanelProps) {
  const { options } = panel;
  return (
    <TableNG
      data={frames[options.frameIndex ?? 0]}
      noHeader={options.showHeader === false}
      showTypeIcons={options.showTypeIcons}
      sortBy={options.sortBy}
      cellHeight={options.cellHeight}
      enablePagination={options.enablePagination}
      frozenColumns={options.frozenColumns?.left}
      noValue={panel.fieldConfig.defaults.noValue}
      fieldConfig={panel.fieldConfig}
      timeRange={range}
      structureRev={1}
      width={width}
      height={height}
    />
  );
}
