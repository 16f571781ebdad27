/** `more`: flags of the compiler. */
export function buildNative(folder?: string, more?: readonly string[]): void
