import { computed, signal } from '@preact/signals'

/** Where the page is: the path and the query behind `#`. A server sees neither, so links work under every prefix. */
export interface Route {
  readonly path: string
  readonly query: URLSearchParams
}

/** What a page gets: the values of its address. */
export interface PageArgs {
  readonly values: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

function read(): Route {
  const [path = '', query = ''] = location.hash.slice(1).split('?', 2)
  return { path: path || '/', query: new URLSearchParams(query) }
}

const current = signal(read())
addEventListener('hashchange', () => {
  current.value = read()
})

export const route = computed(() => current.value)

/** The address of a page, for `href`. Absent and empty values of the query are left out. */
export function linkTo(path: string, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return given.length === 0 ? `#${path}` : `#${path}?${new URLSearchParams(given)}`
}

/** Goes to a page. `replaces`: the page before is not kept in the history, as for a changed filter. */
export function go(path: string, query: Record<string, string | undefined> = {}, replaces = false): void {
  const address = linkTo(path, query)
  if (!replaces) {
    location.hash = address
    return
  }
  history.replaceState(history.state, '', address)
  current.value = read()
}

/** `go` for an answer that comes late: it does nothing once the user has left the page that was shown when it was asked for. */
export function goLater(): typeof go {
  const { path } = route.value
  return (...to) => {
    if (read().path === path) go(...to)
  }
}

/**
 * Changes some values of the query and keeps the others. Does nothing once the address is that of another page, which the next
 * event shows: that would bring back the page that the user left.
 */
export function setQuery(changes: Record<string, string | undefined>): void {
  const { path, query } = read()
  if (path === route.value.path) go(path, { ...Object.fromEntries(query), ...changes }, true)
}

/** The values of `:name` parts if `path` has the form of `pattern`, else null. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== given.length) return null
  const found: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? ''
    if (part.startsWith(':')) found[part.slice(1)] = decode(value)
    else if (part !== value) return null
  }
  return found
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
