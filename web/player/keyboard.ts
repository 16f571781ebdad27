/** What a key does. Arrow keys left and right do something over HLS only. */
export interface KeyActions {
  togglePlay(): void
  toggleMute(): void
  toggleFullscreen(): void
  toggleCaptions(): void
  /** -1 to 1. */
  changeVolume(by: number): void
  seek(bySeconds: number): void
  toggleStatistics(): void
  toggleHelp(): void
}

const VOLUME_STEP = 0.1
const SEEK_SECONDS = 5

const KEYS: Readonly<Record<string, (actions: KeyActions) => void>> = {
  ' ': (actions) => actions.togglePlay(),
  k: (actions) => actions.togglePlay(),
  m: (actions) => actions.toggleMute(),
  f: (actions) => actions.toggleFullscreen(),
  c: (actions) => actions.toggleCaptions(),
  i: (actions) => actions.toggleStatistics(),
  '?': (actions) => actions.toggleHelp(),
  ArrowUp: (actions) => actions.changeVolume(VOLUME_STEP),
  ArrowDown: (actions) => actions.changeVolume(-VOLUME_STEP),
  ArrowLeft: (actions) => actions.seek(-SEEK_SECONDS),
  ArrowRight: (actions) => actions.seek(SEEK_SECONDS),
}

/** Elements that use the key themselves. */
function isTaken(event: KeyboardEvent): boolean {
  const [target] = event.composedPath()
  if (target instanceof HTMLInputElement) return target.type === 'text' || event.key.length > 1 || event.key === ' '
  return target instanceof HTMLButtonElement && event.key === ' '
}

/** Handles a key that was pressed inside of the player. */
export function pressKey(event: KeyboardEvent, actions: KeyActions): void {
  const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key]
  if (action === undefined || event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return
  event.preventDefault()
  action(actions)
}
