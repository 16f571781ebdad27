/** An action that others ask for. */
export interface Paced {
  /** Acts now, or as soon as enough time has passed since the last time and the page is in view. */
  readonly ask: () => void
  /** Whether the page is in view. */
  readonly show: (isInView: boolean) => void
  readonly stop: () => void
}

/** Acts at most once in `leastMs`, and only while the page is in view; what was asked for meanwhile is done once. */
export function paced(action: () => void, leastMs: number): Paced {
  let timer: ReturnType<typeof setTimeout> | null = null
  let isOwed = false
  let isInView = true
  const run = (): void => {
    timer = null
    if (!isOwed || !isInView) return
    isOwed = false
    timer = setTimeout(run, leastMs)
    action()
  }
  const due = (): void => {
    if (timer === null) run()
  }
  return {
    ask() {
      isOwed = true
      due()
    },
    show(nowInView) {
      isInView = nowInView
      due()
    },
    stop() {
      if (timer !== null) clearTimeout(timer)
      isInView = false
    },
  }
}
