/** A figure of `/metrics`, by its name and labels. NaN: it is not there. */
export async function metricOf(base: string, name: string): Promise<number> {
  const lines = (await (await fetch(`${base}/metrics`)).text()).split('\n')
  return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length))
}
