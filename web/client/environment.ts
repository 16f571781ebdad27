/** What the client takes from the browser. Tests pass their own. */
export interface Environment {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** A new peer connection; null: this browser has none. */
  readonly connect: (configuration: RTCConfiguration) => RTCPeerConnection | null
  /** Milliseconds since 1970. It also counts while the machine sleeps. */
  readonly now: () => number
  /** 0 to 1. */
  readonly random: () => number
  /** Calls `step` after `ms`; the returned function cancels it. */
  readonly later: (step: () => void, ms: number) => () => void
  /** Calls `changed` when the machine has another network; the returned function ends that. */
  readonly onNetworkChange: (changed: () => void) => () => void
  /** Calls `left` when the user leaves the page; the returned function ends that. */
  readonly onLeave: (left: () => void) => () => void
  /** Calls `hidden` when the page is hidden, from which it may not return; the returned function ends that. */
  readonly onHide: (hidden: () => void) => () => void
}

/** `type` is there on phones only, where it tells Wi-Fi from the mobile network. */
type Network = EventTarget & { readonly type?: string }

function listen(target: EventTarget | undefined, event: string, listener: () => void): () => void {
  target?.addEventListener(event, listener)
  return () => target?.removeEventListener(event, listener)
}

/** `change` also fires when only the estimated bandwidth differs. */
function onNetworkChange(changed: () => void): () => void {
  const network = (navigator as { connection?: Network }).connection
  let type = network?.type
  const unlisten = listen(network, 'change', () => {
    if (network?.type === type) return
    type = network?.type
    changed()
  })
  const offline = listen(globalThis, 'online', changed)
  return () => {
    unlisten()
    offline()
  }
}

/** The browser itself. */
export const browser: Environment = {
  fetch: (url, init) => fetch(url, init),
  connect: (configuration) =>
    globalThis.RTCPeerConnection === undefined ? null : new RTCPeerConnection(configuration),
  now: () => Date.now(),
  random: () => Math.random(),
  later(step, ms) {
    const timer = setTimeout(step, ms)
    return () => clearTimeout(timer)
  },
  onNetworkChange,
  onLeave: (left) => listen(globalThis, 'pagehide', left),
  onHide: (hidden) =>
    listen(globalThis.document, 'visibilitychange', () => document.visibilityState === 'hidden' && hidden()),
}
