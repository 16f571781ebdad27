import type { Wanted } from './address.ts'

/** The server that this script came from. It may serve below a path. */
const OWN_SERVER = new URL(/* @vite-ignore */ '.', import.meta.url).href

const MODES = ['auto', 'whep', 'hls'] as const

/** The value of an attribute; '' without one. */
export const readAttribute = (element: Element, name: string): string => element.getAttribute(name)?.trim() ?? ''

/** What the attributes of a player ask for; null: they name no stream, or an address that is none. */
export function wantedBy(element: Element): Wanted | null {
  const read = (name: string): string => readAttribute(element, name)
  const [account, ...rest] = read('stream').split('/')
  const name = rest.join('/')
  const stream = account && name ? `${encodeURIComponent(account)}/${encodeURIComponent(name)}` : null
  const playlist = read('src')
  const server = read('server')
  const isUrl = (url: string): boolean => URL.canParse(url || OWN_SERVER, document.baseURI)
  if ((stream === null && playlist === '') || !isUrl(playlist) || !isUrl(server)) return null
  const mode = MODES.find((each) => each === read('mode')) ?? 'auto'
  return {
    server: server === '' ? OWN_SERVER : new URL(server.replace(/\/?$/, '/'), document.baseURI).href,
    stream: playlist === '' ? stream : null,
    playlist,
    token: read('token'),
    sourceId: read('source'),
    mode,
    reports: read('reports') !== 'off',
  }
}

/** `sources="left=Left camera, right"`: ids with their names. */
export function readSources(element: Element): { value: string; label: string }[] {
  const entries = readAttribute(element, 'sources').split(',')
  return entries.flatMap((entry) => {
    const [value = '', label = ''] = entry.split('=').map((part) => part.trim())
    return value === '' && label === '' ? [] : [{ value, label: label || value }]
  })
}
