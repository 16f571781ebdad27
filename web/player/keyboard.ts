/** Elements that use the key themselves. */
function isTaken(event: KeyboardEvent): boolean {
  const [target] = event.composedPath()
  if (target instanceof HTMLInputElement) return target.type === 'text' || event.key.length > 1 || event.key === ' '
  return target instanceof HTMLButtonElement && event.key === ' '
}

/** Handles a key that was pressed inside of the player. @param actions what each key does */
export function pressKey(event: KeyboardEvent, actions: Readonly<Record<string, () => unknown>>): void {
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key]
  if (action === undefined || event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return
  event.preventDefault()
  action()
}
