/**
 * Where a new viewer of a distribution finds the playlist and the pieces of a rendition: a path that contains a ticket.
 * Undefined: the master playlist does not list it now.
 * @param query `?token=…`, if the distribution has keys
 */
export async function listedFolder(
  base: string,
  distributionId: string,
  engineId: string,
  rendition = '0',
  query = '',
): Promise<string | undefined> {
  const master = `${base}/v2/distributions/${distributionId}/hls/main.m3u8${query}`
  const lines = (await (await fetch(master)).text()).split('\n')
  const uri = lines.find((line) => line.endsWith(`/${engineId}-${rendition}/media.m3u8`))
  return uri && new URL('.', new URL(uri, master)).pathname.replace(/\/$/, '')
}

/** The same for one that is listed. */
export async function playbackFolder(...of: Parameters<typeof listedFolder>): Promise<string> {
  const folder = await listedFolder(...of)
  if (folder === undefined) throw new Error(`the master playlist does not list ${of.join(' ')}`)
  return folder
}
