import { useEffect, useState } from 'preact/hooks'
import { signedInAgain } from '../api/expiry.ts'
import { EmailField, PasswordField } from '../parts/accountFields.tsx'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { useSubmit } from '../parts/form.tsx'
import { Notice } from '../parts/notice.tsx'
import { PasskeySignIn } from '../passkeys/signInButton.tsx'
import { session, signIn } from '../session.ts'
import { words } from '../words/words.ts'
import './firstRun/firstRun.css'

const text = words.signIn

/** @param email of the user who signs in again; '' if it is not known who comes */
function useSignIn(email: string, done: () => void) {
  const [given, setGiven] = useState({ email, password: '' })
  const submit = useSubmit(async () => {
    await signIn(given.email, given.password)
    done()
  })
  return { given, setGiven, isKnown: email !== '', ...submit }
}

type SignIn = ReturnType<typeof useSignIn>

function Fields({ given, setGiven, isKnown, error }: SignIn) {
  return (
    <>
      <EmailField
        autocomplete="username"
        autofocus={!isKnown}
        value={given.email}
        onValue={(email) => setGiven({ ...given, email })}
      />
      <PasswordField
        label={text.password}
        autofocus={isKnown}
        error={error?.message}
        value={given.password}
        onValue={(password) => setGiven({ ...given, password })}
      />
    </>
  )
}

/** The page for visitors without a session. */
export function SignInPage() {
  const signing = useSignIn('', () => undefined)
  useEffect(() => {
    document.title = `${text.title} · ${words.product}`
  }, [])
  return (
    <div class="solo">
      <header>
        <span class="brand">
          <img src="./sluice.svg" alt="" width="30" height="30" />
          <span>
            <b>{words.product}</b>
          </span>
        </span>
      </header>
      <main id="main">
        <div class="narrow stack gap-l centre">
          <h1>{text.title}</h1>
          <form class="form" onSubmit={signing.onSubmit}>
            <Fields {...signing} />
            <Button look="primary" size="big" isWide type="submit" isBusy={signing.isBusy}>
              {text.submit}
            </Button>
          </form>
          <PasskeySignIn done={() => undefined} />
          <p class="note">
            {session.value.kind === 'none' && session.value.isFirstRun ? text.firstRun : text.noAccount}{' '}
            <code>
              {session.value.kind === 'none' && session.value.isFirstRun ? text.firstRunCommand : text.command}
            </code>
            .
          </p>
        </div>
      </main>
    </div>
  )
}

/** Lies over a page whose session has ended. The page below keeps what was typed, and its calls go on afterwards. */
export function SignInAgain() {
  const { value } = session
  const email = value.kind === 'signedIn' ? value.session.user.email : ''
  const signing = useSignIn(email, signedInAgain)
  return (
    <Dialog
      title={text.title}
      onClose={() => undefined}
      onSubmit={signing.onSubmit}
      foot={
        <Button look="primary" type="submit" isBusy={signing.isBusy}>
          {text.submit}
        </Button>
      }
    >
      <Notice kind="warn">
        <b>{text.expired}</b> {text.expiredText}
      </Notice>
      <Fields {...signing} />
      <PasskeySignIn done={signedInAgain} />
    </Dialog>
  )
}
