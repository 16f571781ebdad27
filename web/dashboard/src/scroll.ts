const KEY = 'sluice-scroll'
/** A page is drawn when its data is there; later its place would only surprise. */
const GIVE_UP_MS = 5000
const ENTRIES_MAX = 100
const INPUTS = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const

/** Where each entry of the history was scrolled to, in pixels, the oldest first. */
const positions = new Map<number, number>(JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as [number, number][])
let entry = 0
let path = ''
let stop: (() => void) | null = null

/**
 * Shows a page where it was left, when the user goes back or forward, or loads it again: a browser tries before it is drawn. Another
 * page is shown from its top.
 */
export function keepScroll(): void {
  history.scrollRestoration = 'manual'
  addEventListener('scroll', note, { passive: true })
  addEventListener('hashchange', arrive)
  addEventListener('pagehide', () => sessionStorage.setItem(KEY, JSON.stringify([...positions])))
  arrive()
}

function note(): void {
  if (stop !== null) return
  positions.delete(entry)
  positions.set(entry, scrollY)
  const [oldest] = positions.keys()
  if (positions.size > ENTRIES_MAX && oldest !== undefined) positions.delete(oldest)
}

function arrive(): void {
  stop?.()
  const state = history.state as { readonly entry?: number } | null
  entry = state?.entry ?? Date.now()
  const before = path
  path = location.hash.split('?')[0] ?? ''
  if (state?.entry !== undefined) return restore(positions.get(entry) ?? 0)
  history.replaceState({ ...state, entry }, '')
  // A browser takes the part behind # for a place of the same page, and stays where it is, as far as the page is long enough.
  if (path !== before) scrollTo(0, 0)
}

/** Scrolls there each time that the page grows, until the user does something. */
function restore(top: number): void {
  const growing = new ResizeObserver(() => scrollTo(0, top))
  const timer = setTimeout(() => stop?.(), GIVE_UP_MS)
  stop = () => {
    stop = null
    growing.disconnect()
    clearTimeout(timer)
    for (const input of INPUTS) removeEventListener(input, stopNow, true)
  }
  for (const input of INPUTS) addEventListener(input, stopNow, true)
  growing.observe(document.body)
}

const stopNow = (): void => stop?.()
