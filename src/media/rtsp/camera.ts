import { type PullProblem, REDIRECTED } from '../pulling.ts'
import type { RtspReply } from './replies.ts'
import { readSdp } from './sdp.ts'

/** Encodings (RFC 4566) that our transport stream carries as they are. */
const VIDEO = ['H264', 'H265']
const AUDIO = ['MPEG4-GENERIC', 'MP4A-LATM', 'OPUS']

/** What the answers of a server have told so far. */
export class RtspTalk {
  /** Its audio must be encoded. */
  encodesAudio = false
  #status = 0
  #reason = ''
  readonly #hasLogin: boolean

  constructor(hasLogin: boolean) {
    this.#hasLogin = hasLogin
  }

  /** `again`: the client must begin again, since it has learnt that it must encode. */
  judge({ status, reason, headers, body }: RtspReply): PullProblem | 'again' | null {
    this.#status = status
    this.#reason = reason
    if (status >= 300 && status < 400) return REDIRECTED
    const isDescription = status === 200 && headers.get('content-type')?.startsWith('application/sdp') === true
    return isDescription ? this.#describe(body.toString('utf8')) : null
  }

  #describe(text: string): PullProblem | 'again' | null {
    const { video, audio } = readSdp(text)
    if (video === null && audio === null) return unsuitable('The source has no video and no audio')
    if (video !== null && !VIDEO.includes(video))
      return unsuitable(`The source sends video as ${video}; set it to H.264 or H.265`)
    if (audio === null || AUDIO.includes(audio) || this.encodesAudio) return null
    this.encodesAudio = true
    return 'again'
  }

  /** Why the client left before there was media. @param said its last words */
  problem(said: string): PullProblem {
    switch (this.#status) {
      case 401:
        return { kind: 'refused', message: this.#hasLogin ? 'The source refuses the user or the password' : NO_LOGIN }
      case 403:
        return { kind: 'refused', message: 'The source refuses access (403)' }
      case 404:
        return { kind: 'lost', message: 'The source has nothing under this path (404)' }
    }
    const answered = `The source answers ${this.#status} ${this.#reason}`.trim()
    return { kind: 'lost', message: this.#status >= 400 ? answered : `The source gives no media: ${said}` }
  }
}

const NO_LOGIN = 'The source wants a user and a password'

const unsuitable = (message: string): PullProblem => ({ kind: 'unsuitable', message })
