import { describe, expect, it } from 'vitest'
import { parseCandidate } from '../../../../src/media/relay/wire/sdp/candidate.ts'
import { buildFragment, parseFragment } from '../../../../src/media/relay/wire/sdp/fragment.ts'

/** As in RFC 9725 section 4.3.2. */
const TRICKLE = `a=group:BUNDLE 0 1
m=audio 9 UDP/TLS/RTP/SAVPF 111
a=mid:0
a=ice-ufrag:EsAw
a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1
a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0 ufrag EsAw network-id 1
a=candidate:3471623853 1 udp 2122194687 198.51.100.2 61765 typ host generation 0 ufrag EsAw network-id 2
a=candidate:473322822 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active generation 0 ufrag EsAw network-id 1
a=end-of-candidates
`

describe('a trickle fragment', () => {
  it('is read as RFC 9725 writes it', () => {
    const value = { iceUfrag: 'EsAw', icePwd: 'P2uYro0UCOQ4zxjKXaWCBui1' }
    expect(parseFragment(TRICKLE)).toEqual({ ok: true, value })
  })

  it('is answered after a restart with credentials and candidates that can be read', () => {
    const answer = buildFragment({
      iceUfrag: 'abcd',
      icePwd: 'p'.repeat(24),
      hosts: [{ transport: 'udp', address: '::1', port: 7 }],
      mid: '0',
      kind: 'audio',
    })
    expect(parseFragment(answer)).toEqual({ ok: true, value: { iceUfrag: 'abcd', icePwd: 'p'.repeat(24) } })
    const [, candidate = ''] = /^a=candidate:(.*)\r\na=end-of-candidates\r\n/m.exec(answer) ?? []
    expect(parseCandidate(candidate)).toEqual({ address: '::1', port: 7, priority: 2130706431 })
  })

  it.each([
    ['nothing in it', '', 'no attributes'],
    ['a user name of two letters', 'a=ice-ufrag:ab\r\n', 'a=ice-ufrag'],
    ['a short password', 'a=ice-pwd:short\r\n', 'a=ice-pwd'],
    ['prose', 'please\r\n', 'Line 1'],
  ])('is refused with %s', (_, text, problem) => {
    expect(parseFragment(text)).toMatchObject({
      ok: false,
      error: { status: 400, problem: expect.stringContaining(problem) },
    })
  })

  it.each([
    '1 2 udp 1 192.0.2.1 5 typ host',
    '1 1 sctp 1 192.0.2.1 5 typ host',
    '1 1 udp 99999999999 192.0.2.1 5 typ host',
    '1 1 udp 1 192.0.2.1 70000 typ host',
    '1 1 tcp 1 192.0.2.1 5 typ host',
    '',
  ])('leaves the candidate out: %s', (value) => expect(parseCandidate(value)).toBeNull())
})
