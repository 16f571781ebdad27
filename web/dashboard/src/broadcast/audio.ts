/** An audio context, to make or to measure audio. */
export interface Audio {
  readonly context: AudioContext
  readonly close: () => void
}

/** Browsers keep audio still until the user has clicked somewhere in the page; it begins with that click. */
export function openAudio(): Audio {
  const context = new AudioContext()
  const resume = (): void => void context.resume()
  addEventListener('click', resume, { once: true })
  return {
    context,
    close() {
      removeEventListener('click', resume)
      void context.close()
    },
  }
}
