/** Shorter parts of an address are no secrets, and occur in many words. */
const SECRET_MIN = 4

/**
 * Removes a source from the text that a program wrote about it: the address, and every part of its host, path and
 * query, which hold stream keys and passphrases. It also removes ffmpeg's names of its own input.
 */
export function withoutSource(text: string, source: string): string {
  const named = text.replaceAll(/[a-z][a-z0-9+.-]{0,31}:\/\/[^\s'"]*[^\s'".,:;]|pipe:0/gi, 'the source')
  return partsOf(source).reduce((left, part) => left.replaceAll(part, '…'), named)
}

/** Longest first, each both as written and decoded. */
function partsOf(source: string): string[] {
  const [path = '', query = ''] = source.replace(/^[a-z]+:\/\//i, '').split(/\?(.*)/s)
  const [authority = '', ...segments] = path.split('/')
  const values = query.split('&').map((pair) => pair.replace(/^[^=]*=/, ''))
  const written = [authority, authority.replace(/:\d*$/, ''), ...segments, ...values]
  const meant = written.map((part) => new URLSearchParams(`v=${part}`).get('v') ?? part)
  const all = new Set([...written, ...meant].filter((part) => part.length >= SECRET_MIN))
  return [...all].sort((a, b) => b.length - a.length)
}
