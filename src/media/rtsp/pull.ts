import { withoutSource } from '../../base/withoutSource.ts'
import { coded, type Said, say } from '../../core/notices.ts'
import { AAC, words } from '../ffmpeg/arguments.ts'
import { concatScript } from '../ffmpeg/concatScript.ts'
import { exitReason } from '../ffmpeg/exits.ts'
import type { Ffmpeg, FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import type { LinkTotals } from '../measure/linkMeter.ts'
import { TsIngest } from '../mpegts/ingest.ts'
import {
  CLOSED,
  NO_ANSWER,
  type PulledSource,
  type PulledSourceOptions,
  type PullProblem,
  SILENT_SECONDS,
  SilenceWatch,
  SLUICE_FAILED,
} from '../pulling.ts'
import { RtspTalk } from './camera.ts'
import { RtspRelay } from './relay.ts'

export interface RtspPullOptions extends PulledSourceOptions {
  readonly ffmpeg: Ffmpeg
  /** For the log. */
  readonly name: string
}

const STOP_GRACE_MS = 2000

/** ffmpeg reads a source over one connection, interleaved, so that no description leads its media elsewhere. */
const INPUT_OPTIONS = {
  rtsp_transport: 'tcp',
  protocol_whitelist: 'tcp',
  format_whitelist: 'rtsp',
  probesize: '1000000',
  analyzeduration: '1000000',
}

/** Cameras may send their first packets without times. */
const INPUT = words('-fflags +genpts -protocol_whitelist pipe,tcp -f concat -safe 0 -auto_convert 0 -i pipe:0')
const TRACKS = words('-map 0:v:0? -map 0:a:0? -c copy')
/** Each frame leaves at once. */
const OUTPUT = words('-f mpegts -muxdelay 0 -muxpreload 0 -omit_video_pes_length 0 -flush_packets 1 pipe:1')

/** Takes the media of an RTSP source, over a connection that exists. */
export class RtspPull implements PulledSource {
  readonly #options: RtspPullOptions
  readonly #relay: RtspRelay
  readonly #talk: RtspTalk
  readonly #ingest: TsIngest
  readonly #silence = new SilenceWatch()
  #process: FfmpegProcess | null = null
  #isOver = false
  #hasMedia = false

  constructor(options: RtspPullOptions) {
    this.#options = options
    const { clock, maxFrameBytes, leftOut, sink, socket, url } = options
    this.#talk = new RtspTalk(url)
    this.#ingest = new TsIngest(
      {
        tracks: (tracks) => {
          this.#hasMedia = true
          sink.tracks(tracks)
        },
        frame: (frame) => sink.frame(frame),
        end: () => undefined,
      },
      { clock, maxFrameBytes, leftOut },
    )
    this.#relay = new RtspRelay({
      source: socket,
      failed: this.#failed,
      judge: (reply) => {
        const found = this.#talk.judge(reply)
        if (found === 'again') this.#restart()
        else if (found !== null) this.#fail(found)
        return found === null
      },
      ended: (why) => this.#disconnected(why),
    })
  }

  get bytesIn(): number {
    return this.#relay.received
  }

  get link(): LinkTotals {
    return this.#relay.gaps.totals
  }

  async start(): Promise<void> {
    const port = await this.#relay.await()
    if (this.#isOver) return this.#relay.close()
    const { ffmpeg, name, url } = this.#options
    const script = concatScript(localUrl(url, port), INPUT_OPTIONS)
    const args = [...INPUT, ...TRACKS, ...(this.#talk.encodesAudio ? AAC : []), ...OUTPUT]
    const started = ffmpeg.run({ name, args, script, network: true, stdout: (chunk) => this.#take(chunk) })
    if (!started.ok) return this.#lost(started.error)
    this.#process = started.value
    this.#follow(started.value).catch(this.#failed)
  }

  tick(): void {
    this.#relay.tick()
    if (!this.#silence.look(this.#relay.progress)) return
    const { received, progress } = this.#relay
    this.#lost(received > 0 && progress === 0 ? NO_ANSWER : NOTHING_SENT)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#relay.close()
    void this.#process?.stop(STOP_GRACE_MS)
  }

  #take(chunk: Buffer): void {
    if (this.#isOver) return
    const refusal = this.#ingest.take(chunk)
    if (refusal !== null) this.#fail({ kind: 'unsuitable', ...refusal })
  }

  /** Begins again on the same connection, which has no session yet. */
  #restart(): void {
    const process = this.#process
    this.#process = null
    void process?.stop(0)
    this.start().catch(this.#failed)
  }

  async #follow(process: FfmpegProcess): Promise<void> {
    const exit = await process.exited
    if (this.#process !== process || this.#isOver) return
    this.#ingest.end()
    const { url, socket } = this.#options
    const said = withoutSource(exitReason(exit), url.href)
    if (this.#hasMedia) this.#lost(socket.closed ? CLOSED : say(coded('source_stopped_because', { text: said })))
    else this.#fail(this.#talk.problem(said))
  }

  /**
   * ffmpeg holds a frame until the next one begins: it passes on the last one when it ends.
   * @param why null: the source has closed the connection, perhaps after an answer that says why
   */
  #disconnected(why: string | null): void {
    if (why !== null) this.#lost({ message: why })
    else if (this.#hasMedia) this.#relay.finish()
    else this.#fail(this.#talk.problem('it has closed the connection'))
  }

  /** A fault of ours ends this source and no other. */
  readonly #failed = (error: unknown): void => {
    this.#options.log.error({ err: error }, 'a connection to a source of RTSP failed')
    this.#lost(SLUICE_FAILED)
  }

  #lost(why: Said): void {
    this.#fail({ kind: 'lost', ...why })
  }

  #fail(problem: PullProblem): void {
    if (this.#isOver) return
    this.end()
    this.#options.ended(problem)
  }
}

const NOTHING_SENT = say(coded('source_nothing_sent', { seconds: SILENT_SECONDS }))

/** The same path and login at a port of this machine. */
function localUrl({ username, password, pathname, search }: URL, port: number): string {
  const login = username === '' ? '' : `${username}${password === '' ? '' : `:${password}`}@`
  return `rtsp://${login}127.0.0.1:${port}${pathname}${search}`
}
