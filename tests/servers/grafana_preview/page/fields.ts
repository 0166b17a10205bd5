import {
  applyFieldOverrides,
  cacheFieldDisplayNames,
  type DataFrame,
  displayNameOverrideProcessor,
  FieldConfigOptionsRegistry,
  type FieldConfigPropertyItem,
  type FieldConfigSource,
  type GrafanaTheme2,
  identityOverrideProcessor,
  type InterpolateFunction,
  standardTransformers,
  standardTransformersRegistry,
  type ThresholdsConfig,
  ThresholdsMode,
  transformDataFrame,
} from '@grafana/data';
import { lastValueFrom } from 'rxjs';
import type { Panel } from './document';

export const TIME_ZONE = 'utc';
const STANDARD = [
  'unit',
  'min',
  'max',
  'fieldMinMax',
  'decimals',
  'noValue',
  'thresholds',
  'mappings',
  'links',
  'color',
  'filterable',
];

const UNTOUCHED: ThresholdsConfig = {
  mode: ThresholdsMode.Absolute,
  steps: [
    { value: -Infinity, color: 'green' },
    { value: 80, color: 'red' },
  ],
};
const REPLACED = 'displayMode'; // what cellOptions was once called: Grafana drops it when it loads a board

standardTransformersRegistry.setInit(() => {
  const byId = new Map(Object.values(standardTransformers).map((info) => [info.id, info])); // one stands there twice
  return [...byId.values()].map((info) => ({
    id: info.id,
    name: info.name,
    transformation: () => Promise.resolve(info as any),
    editor: () => null,
    imageDark: '',
    imageLight: '',
  }));
});

/** The panel's frames after its transformations, each field with its configuration, texts, colours and links. */
export async function configured(
  panel: Panel,
  frames: DataFrame[],
  theme: GrafanaTheme2,
  replaceVariables: InterpolateFunction
): Promise<DataFrame[]> {
  const transformations = panel.transformations ?? [];
  for (const { id } of transformations) {
    standardTransformersRegistry.get(id); // throws with the name of one that is not there
  }
  const data = await lastValueFrom(transformDataFrame(transformations, frames, { interpolate: replaceVariables }));
  const fieldConfig = withThresholds(panel.fieldConfig);
  const fieldConfigRegistry = registryFor(panel);
  const applied = applyFieldOverrides({
    data,
    fieldConfig,
    fieldConfigRegistry,
    replaceVariables,
    theme,
    timeZone: TIME_ZONE,
  });
  cacheFieldDisplayNames(applied); // the table looks for its headings there, and nowhere else
  return applied;
}

/** Grafana's thresholds where a board has none. The first begins at minus infinity, which JSON cannot say. */
function withThresholds({ defaults, overrides = [] }: FieldConfigSource): FieldConfigSource {
  const lowest = (thresholds: ThresholdsConfig = UNTOUCHED) => ({
    ...thresholds,
    steps: thresholds.steps.map((step) => ({ ...step, value: step.value ?? -Infinity })),
  });
  return {
    defaults: { ...defaults, thresholds: lowest(defaults.thresholds) },
    overrides: overrides.map((rule) => ({
      ...rule,
      properties: rule.properties.map((one) => (one.id === 'thresholds' ? { ...one, value: lowest(one.value) } : one)),
    })),
  };
}

/** Grafana's standard options, and those of the panel's own plugin that its JSON sets. */
function registryFor(panel: Panel): FieldConfigOptionsRegistry {
  const { defaults, overrides = [] } = panel.fieldConfig;
  const set = overrides.flatMap((one) => one.properties.map((property) => property.id));
  const own = [
    ...Object.keys(defaults.custom ?? {}),
    ...set.filter((id) => id.startsWith('custom.')).map((id) => id.slice('custom.'.length)),
  ];
  return new FieldConfigOptionsRegistry(() => [
    ...STANDARD.map((id) => option(id, id)),
    { ...option('displayName', 'displayName'), process: displayNameOverrideProcessor },
    ...[...new Set(own)]
      .filter((path) => path !== REPLACED)
      .map((path) => ({ ...option(`custom.${path}`, path), isCustom: true })),
  ]);
}

function option(id: string, path: string): FieldConfigPropertyItem {
  const nothing = () => null;
  return {
    id,
    path,
    name: id,
    editor: nothing,
    override: nothing,
    process: identityOverrideProcessor,
    shouldApply: () => true,
  };
}
