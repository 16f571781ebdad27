/** For this machine. `flags`: more ones of the compiler. */
export function buildNative(folder?: string, flags?: readonly string[]): void
/** What builds addons for a processor, by Node's name for it. `debian`: the packages, separated by spaces. */
export function compilerFor(arch: string): { readonly program: string; readonly debian: string }
