/** Does work that may pause, without a pause. */
export function atOnce<T>(work: Iterator<unknown, T, undefined>): T {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}
