import { coded, type CodedSentence, say } from '../../core/notices.ts'
import { type PullProblem, REDIRECTED } from '../pulling.ts'
import { type RtspReply, spoken } from './replies.ts'
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
  readonly #url: URL

  constructor(url: URL) {
    this.#url = url
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
    if (video === null && audio === null) return unsuitable(coded('source_no_tracks'))
    if (video !== null && !VIDEO.includes(video)) return unsuitable(coded('source_video_codec', { codec: video }))
    if (audio === null || AUDIO.includes(audio) || this.encodesAudio) return null
    this.encodesAudio = true
    return 'again'
  }

  /** Why the client left before there was media. @param said its last words */
  problem(said: string): PullProblem {
    const status = this.#status
    switch (status) {
      case 401:
        return because('refused', coded(this.#url.username !== '' ? 'source_refuses_login' : 'source_wants_login'))
      case 403:
        return because('refused', coded('source_refuses_access', { status }))
      case 404:
        return because('lost', coded('source_no_path'))
    }
    if (status < 400) return because('lost', coded('source_no_media_because', { text: said }))
    return because('lost', coded('source_answers', { text: spoken(status, this.#reason, this.#url) }))
  }
}

const because = (kind: PullProblem['kind'], why: CodedSentence): PullProblem => ({ kind, ...say(why) })
const unsuitable = (why: CodedSentence): PullProblem => because('unsuitable', why)
