import { percentDecoded } from './percent.ts'

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

/** The password of `user:password`, percent-encoded, and both as Basic sends them: servers repeat what they were sent. */
function secretsOf(login: string): string[] {
  const [user = '', password = ''] = login.split(/:(.*)/s)
  const both = `${percentDecoded(user)}:${percentDecoded(password)}`
  return password === '' ? [] : [password, Buffer.from(both).toString('base64')]
}

/** Longest first, each both as written and decoded. */
function partsOf(source: string): string[] {
  const [path = '', query = ''] = source.replace(/^[a-z]+:\/\//i, '').split(/\?(.*)/s)
  const [authority = '', ...segments] = path.split('/')
  const values = query.split('&').map((pair) => pair.replace(/^[^=]*=/, ''))
  const login = authority.slice(0, Math.max(0, authority.lastIndexOf('@')))
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const written = [authority, host, host.replace(/:\d*$/, ''), ...secretsOf(login), ...segments, ...values]
  const meant = written.map((part) => new URLSearchParams(`v=${part}`).get('v') ?? part)
  const all = new Set([...written, ...meant].filter((part) => part.length >= SECRET_MIN))
  return [...all].sort((a, b) => b.length - a.length)
}
