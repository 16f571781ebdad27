import { type ClientState, type SluiceError, WhepViewer, WhipPublisher } from '../../web/client/index.ts'
import { type Answers, FakeBrowser, FakeMedia } from './fakes.ts'

export const camera = () => new FakeMedia([{ kind: 'video' }, { kind: 'audio' }]) as unknown as MediaStream

export function viewing(answers?: Answers, options: object = {}) {
  const browser = new FakeBrowser(answers)
  const states: string[] = []
  const onState = (state: ClientState, reason: SluiceError | null) =>
    states.push(reason === null ? state : `${state}: ${reason.code}`)
  const shared = { url: 'https://live.test/api/whep/acc/show', environment: browser, onState, ...options }
  return { browser, states, viewer: new WhepViewer(shared), publisher: new WhipPublisher(shared) }
}

/** A viewer or publisher whose media flows. */
export async function live(answers?: Answers, options: object = {}) {
  const all = viewing(answers, options)
  const begun = 'publishes' in options ? all.publisher.start(camera()) : all.viewer.start()
  await all.browser.pass(0)
  all.browser.peer.become('connected')
  await begun
  return all
}
