/** Decodes percent-encoding as in a URL, once. Text that is not valid percent-encoding stays as it is. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
