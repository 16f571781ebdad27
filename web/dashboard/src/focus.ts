/** What Tab stops at. */
const CONTROLS = 'a[href], button, input, select, textarea'

/**
 * Moves the focus on when what has it goes away: from the row of a viewer that was ended, or a key that was deleted, to the same
 * control of the row that takes its place, else to the heading above. A browser would leave it nowhere, and a screen reader would
 * begin at the top of the page.
 */
export function keepFocus(): void {
  let last: HTMLElement | null = null
  let hasMoved = false
  addEventListener('focusin', ({ target }) => {
    last = target instanceof HTMLElement ? target : null
  })
  addEventListener('focusout', ({ target }) => {
    // What is being removed is gone only when its page has been drawn. What is there still was left on purpose, such as by a click.
    queueMicrotask(() => {
      if (target === last && last?.isConnected && document.activeElement !== last) last = null
    })
  })
  new MutationObserver((changes) => {
    const lost = last
    if (lost === null || lost.isConnected || document.activeElement !== document.body) return
    last = null
    for (const change of changes) {
      const gone = [...change.removedNodes].find((node) => node.contains(lost))
      if (!(gone instanceof HTMLElement)) continue
      hasMoved = true
      return (movedTo(lost) ?? successorOf(lost, gone, change))?.focus()
    }
  }).observe(document.body, { childList: true, subtree: true })
  // A key that is held would press the same button in each row.
  addEventListener('keydown', (event) => {
    if (hasMoved && event.repeat) event.preventDefault()
    else hasMoved = false
  })
}

/** The same link where it stands now: a list that turns out to be empty has it in its middle, and not in the head of the page. */
const movedTo = (lost: HTMLElement): HTMLElement | undefined =>
  lost instanceof HTMLAnchorElement
    ? [...document.querySelectorAll<HTMLAnchorElement>('#main a')].find(({ href }) => href === lost.href)
    : undefined

/** @param gone what was removed, with `lost` in it */
function successorOf(lost: HTMLElement, gone: HTMLElement, change: MutationRecord): HTMLElement | null {
  const at = controlsIn(gone).indexOf(lost)
  const rows = [
    sibling(gone, change.nextSibling, 'nextSibling'),
    sibling(gone, change.previousSibling, 'previousSibling'),
  ]
  return rows.flatMap((row) => (row && controlsIn(row)[at]) ?? []).at(0) ?? aroundOf(change.target)
}

const controlsIn = (row: Element): HTMLElement[] => [...row.querySelectorAll<HTMLElement>(CONTROLS)]

/** The nearest row of the same list, from a node on. */
function sibling(gone: Element, from: Node | null, step: 'nextSibling' | 'previousSibling'): Element | null {
  for (let node = from; node !== null; node = node[step])
    if (node instanceof Element && isAlike(node, gone)) return node
  return null
}

/** The row that a page speaks of has another class. */
const isAlike = (one: Element, other: Element): boolean =>
  one.tagName === other.tagName && (one.tagName !== 'DIV' || one.className === other.className)

/** The heading; below a list the last control of the list, where the next rows have come. */
function aroundOf(place: Node): HTMLElement | null {
  const [around, foot] = place instanceof Element ? [place.closest('.card, #main'), place.closest('.card-foot')] : []
  const before = around && foot ? controlsIn(around).at(-1) : undefined
  if (before) return before
  const heading = around?.querySelector<HTMLElement>('h1, h2') ?? null
  if (heading !== null) heading.tabIndex = -1
  return heading
}
