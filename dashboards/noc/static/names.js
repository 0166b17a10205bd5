// Names of objects as people know them: a GPU by its place in the host, and what stands on its label.
const SHORT = 12; // characters of a UUID that tell GPUs of one host apart

/** `gpus`: index of each GPU by ``host/UUID``. ``node1 GPU 3 · GPU-1565c499`` where the index is known. */
export function objectName(name, gpus) {
  if (!Object.hasOwn(gpus, name)) return name;
  const [host, uuid] = name.split("/");
  return `${host} GPU ${gpus[name]} · ${uuid.slice(0, SHORT)}`;
}

/** A text of the API with the names of its GPUs as above. */
export function withNames(text, gpus) {
  // As a function, since in a text as the replacement $& and $' have a meaning.
  return Object.keys(gpus).reduce((said, name) => said.replaceAll(name, () => objectName(name, gpus)), text);
}

/** A series: its object first, then the metric and what distinguishes it; what is no series stays as it is. */
export function seriesName(key, gpus) {
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
