import type { SluiceError } from '../../../client/index.ts'
import { ownAddresses, trustAddress } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { Notice } from '../parts/notice.tsx'
import { words } from '../words/words.ts'
import { air, chooseAgain, type SourceProblem } from './broadcast.ts'

const text = words.goLive

/** Why the chosen source shows nothing. */
export const SourceNotice = ({ problem }: { readonly problem: SourceProblem | null }) =>
  problem && (
    <Notice kind="warn">
      {text.sourceProblems[problem]}{' '}
      {problem === 'insecure' ? (
        <TrustLink />
      ) : (
        <Button size="small" onClick={() => void chooseAgain()}>
          {words.parts.tryAgain}
        </Button>
      )}
    </Notice>
  )

/** What to do where the browser offers no camera, before one is chosen. */
export const InsecureNotice = () =>
  !isSecureContext && (
    <Notice kind="warn">
      {text.sourceProblems.insecure} <TrustLink />
    </Notice>
  )

const TrustLink = () => <a href={trustAddress(ownAddresses())}>{text.howToTrust}</a>

/** Why the broadcast ended or never began, with the server's own words if it said any. */
export function Refusal() {
  const { problem } = air.value
  if (problem === null) return null
  return (
    <Notice kind="error">
      <b>{adviceOf(problem)}</b> {problem.status > 0 && problem.message}
    </Notice>
  )
}

function adviceOf({ code }: SluiceError): string {
  const advice: Readonly<Record<string, string>> = text.refusals
  return advice[code] ?? text.refusals.other
}
