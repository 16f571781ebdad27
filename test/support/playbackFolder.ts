/**
 * Where a new viewer of a distribution finds the playlist and the pieces of a rendition: a path that contains a ticket.
 * @param query `?token=…`, if the distribution has keys
 */
export async function playbackFolder(
  base: string,
  distributionId: string,
  engineId: string,
  rendition = '0',
  query = '',
): Promise<string> {
  const old = `${base}/v2/distributions/${distributionId}/hls/${engineId}/${rendition}/index.m3u8${query}`
  const answer = await fetch(old, { redirect: 'manual' })
  const location = answer.headers.get('location')
  if (location === null) throw new Error(`${answer.status} and no ticket: ${await answer.text()}`)
  return new URL('.', new URL(location, old)).pathname.replace(/\/$/, '')
}
