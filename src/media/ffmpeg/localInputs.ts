const WHITELIST = '-protocol_whitelist'

/**
 * Arguments whose inputs open no address and, with `isFed`, no file: only what is written to the process. An input with a
 * whitelist of its own keeps it.
 */
export function localInputs(args: readonly string[], isFed: boolean): string[] {
  const allowed = isFed ? 'pipe' : 'pipe,file'
  let hasOwn = false
  return args.flatMap((arg) => {
    if (arg === WHITELIST) hasOwn = true
    if (arg !== '-i') return [arg]
    const added = hasOwn ? [] : [WHITELIST, allowed]
    hasOwn = false
    return [...added, arg]
  })
}
