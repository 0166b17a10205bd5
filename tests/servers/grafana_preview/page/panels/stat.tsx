import {
  type DisplayValueAlignmentFactors,
  type FieldDisplay,
  getDisplayValueAlignmentFactors,
  getFieldDisplayValues,
} from '@grafana/data';
import { BarGauge, BigValue, VizRepeater } from '@grafana/ui';
import type { ComponentProps } from 'react';
import { TIME_ZONE } from '../fields';
import type { PanelProps } from './props';

type RepeaterProps = ComponentProps<typeof VizRepeater<FieldDisplay, DisplayValueAlignmentFactors>>;

/** One large number a series. */
export function Stat(props: PanelProps) {
  const { options } = props.panel;
  return (
    <VizRepeater
      {...repeated(props)}
      itemSpacing={3}
      autoGrid
      renderValue={({ value, width, height, alignmentFactors, count }) => (
        <BigValue
          value={value.display}
          sparkline={value.sparkline && { ...value.sparkline, timeRange: props.range }}
          colorMode={options.colorMode}
          graphMode={options.graphMode}
          justifyMode={options.justifyMode}
          textMode={options.textMode}
          text={options.text}
          alignmentFactors={alignmentFactors}
          count={count}
          width={width}
          height={height}
          theme={props.theme}
        />
      )}
    />
  );
}

/** One bar a series. */
export function Bars(props: PanelProps) {
  const { options } = props.panel;
  return (
    <VizRepeater
      {...repeated(props)}
      itemSpacing={10}
      minVizWidth={options.minVizWidth}
      minVizHeight={options.minVizHeight}
      maxVizHeight={options.maxVizHeight}
      renderValue={({ value, width, height, alignmentFactors, orientation }) => (
        <BarGauge
          value={value.display}
          field={value.field}
          display={value.view?.getFieldDisplayProcessor(value.colIndex ?? 0)}
          orientation={orientation}
          displayMode={options.displayMode}
          showUnfilled={options.showUnfilled}
          valueDisplayMode={options.valueMode}
          namePlacement={options.namePlacement}
          text={options.text}
          alignmentFactors={alignmentFactors}
          width={width}
          height={height}
          theme={props.theme}
        />
      )}
    />
  );
}

function repeated(props: PanelProps): Omit<RepeaterProps, 'renderValue' | 'itemSpacing'> & { itemSpacing?: number } {
  const { panel, frames, theme, replaceVariables, width, height } = props;
  return {
    getValues: () =>
      getFieldDisplayValues({
        data: frames,
        fieldConfig: panel.fieldConfig,
        reduceOptions: panel.options.reduceOptions,
        sparkline: (panel.options.graphMode ?? 'none') !== 'none',
        replaceVariables,
        theme,
        timeZone: TIME_ZONE,
      }),
    getAlignmentFactors: getDisplayValueAlignmentFactors,
    source: frames,
    renderCounter: 0,
    orientation: panel.options.orientation,
    width,
    height,
  };
}
