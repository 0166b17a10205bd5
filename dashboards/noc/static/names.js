// Names of objects as people know them: a GPU by its place in the host, and what stands on its label.

/** gpus: name for people of each GPU by ``host/UUID``, such as ``node1 GPU 3 (serial 1650321004242)``. */
export const objectName = (name, gpus) => (Object.hasOwn(gpus, name) ? gpus[name] : name);

/** Of an object with its kind: a number alone does not say that it is a job's. */
export const refName = ({ kind, name }, gpus) => (kind === "job" ? `job ${name}` : objectName(name, gpus));

/** A text of the API with the names of its GPUs as above. */
export function withNames(text, gpus) {
  // As a function, since in a text as the replacement $& and $' have a meaning.
  return Object.keys(gpus).reduce((said, name) => said.replaceAll(name, () => objectName(name, gpus)), text);
}

/** A kind of incident in words: ``GPU fault``. */
export const kindInWords = (kind) => kind.replaceAll("_", " ").replace(/^(bgp|gpu|tcp)\b/, (word) => word.toUpperCase());

/** A series: its object first, then the metric and what distinguishes it; what is no series stays as it is. Of what is
 * computed from one, such as ``at_power_limit(gpu_temperature_celsius{…})``, how stands before the metric. */
export function seriesName(key, gpus) {
  const [, how, of] = /^([a-z_]+)\((.*)\)$/s.exec(key) ?? [];
  if (how !== undefined) {
    const [object, ...rest] = seriesName(of, gpus).split(" · ");
    return rest.length ? [object, `${how.replaceAll("_", " ")}: ${rest[0]}`, ...rest.slice(1)].join(" · ") : key;
  }
  const [, metric, inside] = /^([a-z_][a-z0-9_]*)\{(.*)\}$/is.exec(key) ?? [];
  if (metric === undefined) return key;
  const labels = Object.fromEntries([...inside.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/gs)].map(([, name, value]) => [name, value]));
  const { device, port, gpu, ...rest } = labels;
  const part = port ?? gpu;
  if (device === undefined) return key;
  const others = Object.entries(rest).map(([name, value]) => (name === "direction" ? value : `${name} ${value}`));
  const object = objectName(part === undefined ? device : `${device}/${part}`, gpus);
  return [object, metric, ...others].join(" · ");
}
