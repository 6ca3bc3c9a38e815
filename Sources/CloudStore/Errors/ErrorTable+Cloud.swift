// The rows of the cloud, by CKError's numbers.
extension ErrorTable {
    static let access: [ErrorEntry] = [
        ErrorEntry(
            1, "internalError", "something failed that has no code of its own", .never, raised: false,
            en: ("Unexpected error", "Something went wrong.", "Report it, with the details."),
            it: ("Errore imprevisto", "Qualcosa è andato storto.", "Segnala il problema con i dettagli.")),
        ErrorEntry(
            1, "internalError", "bytes are not what their hash, size or grammar says", .afterAction, as: .damaged,
            en: (
                "Damaged data", "The shared data is damaged, and none of it was used.",
                "Restore it from a copy, or ask whoever manages the shared data to repair it."
            ),
            it: (
                "Dati danneggiati", "I dati condivisi sono danneggiati e non sono stati usati.",
                "Ripristinali da una copia o chiedi a chi gestisce i dati condivisi di ripararli."
            )),
        ErrorEntry(
            2, "partialFailure", "some records of a request failed, each for its own reason", .never,
            en: ("Not everything was saved", "Some changes could not be saved.", "Look at the error of each change."),
            it: ("Salvataggio incompleto", "Alcune modifiche non sono state salvate.", "Controlla l’errore di ciascuna modifica.")),
        ErrorEntry(
            3, "networkUnavailable", "the cloud is not there: not mounted, or no network", .later, as: .cloudUnavailable,
            en: (
                "Not reachable", "The shared data cannot be reached at the moment.",
                "Check the network or the shared folder, then try again."
            ),
            it: (
                "Non raggiungibile", "I dati condivisi non sono raggiungibili in questo momento.",
                "Controlla la rete o la cartella condivisa, poi riprova."
            )),
        ErrorEntry(
            4, "networkFailure", "a read or a write failed on the way", .later, as: .inputOutput,
            en: ("Connection failed", "The shared data could not be read or written.", "Check the disk and the network, then try again."),
            it: (
                "Connessione non riuscita", "Non è stato possibile leggere o scrivere i dati condivisi.",
                "Controlla il disco e la rete, poi riprova."
            )),
        ErrorEntry(
            5, "badContainer", "another cloud or another container stands there", .afterAction,
            en: (
                "Other data found", "This is not the data that belongs to the app.",
                "Choose the folder or the account that the app was set up with."
            ),
            it: (
                "Trovati altri dati", "Questi non sono i dati dell’app.",
                "Scegli la cartella o l’account con cui l’app è stata configurata."
            )),
        ErrorEntry(
            5, "badContainer", "the directory is there and is not a cloud", .afterAction, as: .notACloud,
            en: ("No shared data", "There is no shared data in this place.", "Choose another place, or set sync up there."),
            it: (
                "Nessun dato condiviso", "In questa posizione non ci sono dati condivisi.",
                "Scegli un’altra posizione o configura lì la sincronizzazione."
            )),
        ErrorEntry(
            6, "serviceUnavailable", "the service is down", .later, raised: false,
            en: ("Service unavailable", "The service is not available at the moment.", "Try again later."),
            it: ("Servizio non disponibile", "Il servizio non è disponibile in questo momento.", "Riprova più tardi.")),
        ErrorEntry(
            7, "requestRateLimited", "too many requests in a short time; `retryAfter` says when the next is welcome", .later,
            en: ("Too many requests", "There were too many requests in a short time.", "Wait a moment, then try again."),
            it: ("Troppe richieste", "Ci sono state troppe richieste in poco tempo.", "Attendi un momento, poi riprova.")),
        ErrorEntry(
            8, "missingEntitlement", "the app is not entitled to the service", .never, raised: false,
            en: ("App not permitted", "This app may not use the service.", "Install the app again, or report it to the app’s developer."),
            it: (
                "App non autorizzata", "Questa app non può usare il servizio.",
                "Reinstalla l’app o segnala il problema a chi la sviluppa."
            )),
        ErrorEntry(
            9, "notAuthenticated", "there is no account", .afterAction,
            en: ("Not signed in", "Nobody is signed in, so nothing can be synced.", "Sign in. Your changes are kept until then."),
            it: (
                "Accesso non effettuato", "Nessuno ha effettuato l’accesso, quindi non è possibile sincronizzare.",
                "Accedi. Fino ad allora le tue modifiche restano salvate."
            )),
    ]

    static let requests: [ErrorEntry] = [
        ErrorEntry(
            10, "permissionFailure", "the user lacks a right", .afterAction,
            en: ("Not allowed", "You may not do this.", "Ask the owner of the shared data for permission."),
            it: ("Non consentito", "Non hai il permesso di farlo.", "Chiedi il permesso al proprietario dei dati condivisi.")),
        ErrorEntry(
            10, "permissionFailure", "this device may not publish here", .afterAction, as: .notAuthorized,
            en: ("Read only", "This device may read the shared data, but not change it.", "Make the change on a device that may publish."),
            it: (
                "Sola lettura", "Questo dispositivo può leggere i dati condivisi, ma non modificarli.",
                "Fai la modifica su un dispositivo che può pubblicare."
            )
        ),
        ErrorEntry(
            10, "permissionFailure", "the device's private keys are missing or cannot be used", .afterAction, as: .keyUnavailable,
            en: (
                "Keys missing", "This device cannot prove who it is.",
                "Restore its key file, or set the device up again and have it approved."
            ),
            it: (
                "Chiavi mancanti", "Questo dispositivo non può dimostrare la propria identità.",
                "Ripristina il file delle chiavi, oppure riconfigura il dispositivo e fallo approvare."
            )),
        ErrorEntry(
            11, "unknownItem", "the record, version or asset is not there", .never,
            en: ("Not found", "This item no longer exists.", "Refresh. To keep the item, save it as a new one."),
            it: ("Non trovato", "Questo elemento non esiste più.", "Aggiorna. Per conservare l’elemento, salvalo come nuovo.")),
        ErrorEntry(
            12, "invalidArguments", "a name, a value, a query or a cursor is not allowed", .never,
            en: ("Not valid", "This cannot be saved or searched for.", "Correct what you entered, then try again."),
            it: ("Non valido", "Non è possibile salvare o cercare questo contenuto.", "Correggi ciò che hai inserito, poi riprova.")),
        ErrorEntry(
            13, "resultsTruncated", "the answer does not hold all results; Apple has deprecated it", .afterAction, raised: false,
            en: ("Results incomplete", "Not all results were returned.", "Load the next results."),
            it: ("Risultati incompleti", "Non sono stati restituiti tutti i risultati.", "Carica i risultati successivi.")),
        ErrorEntry(
            14, "serverRecordChanged", "another device was first", .afterFetching,
            en: ("Changed elsewhere", "This was changed on another device in the meantime.", "Look at the other change, then save again."),
            it: (
                "Modificato altrove", "Nel frattempo questo elemento è stato modificato su un altro dispositivo.",
                "Controlla l’altra modifica, poi salva di nuovo."
            )),
        ErrorEntry(
            15, "serverRejectedRequest", "the request was refused for good", .never, raised: false,
            en: ("Request refused", "The request was refused.", "Report it, with the details."),
            it: ("Richiesta rifiutata", "La richiesta è stata rifiutata.", "Segnala il problema con i dettagli.")),
        ErrorEntry(
            15, "serverRejectedRequest", "a clock is outside 2000 to 2100, or a day off the cloud's", .afterAction, as: .clockUnusable,
            en: ("Wrong clock", "The clock of this device is wrong.", "Set the date and the time, then try again."),
            it: ("Orologio errato", "L’orologio di questo dispositivo è sbagliato.", "Imposta la data e l’ora, poi riprova.")),
        ErrorEntry(
            15, "serverRejectedRequest", "the zone's history ends before what this device has read, or is another", .afterAction, as: .rolledBack,
            en: (
                "Older data found", "The shared data is older than what this device has seen.",
                "Find out who put an old copy there before you go on."
            ),
            it: (
                "Trovati dati più vecchi", "I dati condivisi sono più vecchi di quelli già visti da questo dispositivo.",
                "Scopri chi ha messo lì una vecchia copia prima di continuare."
            )),
        ErrorEntry(
            15, "serverRejectedRequest", "a signature is missing or not one by a member who may do this", .afterAction, as: .untrusted,
            en: (
                "Data not trusted", "Somebody without permission has written to the shared data.",
                "Find out who wrote it before you go on."
            ),
            it: (
                "Dati non attendibili", "Qualcuno senza permesso ha scritto nei dati condivisi.",
                "Scopri chi li ha scritti prima di continuare."
            )),
        ErrorEntry(
            16, "assetFileNotFound", "a record names an asset that is not there", .afterAction,
            en: ("File missing", "A file that belongs to this item is missing.", "Add the file again, then save."),
            it: ("File mancante", "Manca un file che appartiene a questo elemento.", "Aggiungi di nuovo il file, poi salva.")),
        ErrorEntry(
            17, "assetFileModified", "a record names an asset that is there with another size or content", .afterAction,
            en: ("File changed", "A file that belongs to this item was changed.", "Add the file again, then save."),
            it: (
                "File modificato", "Un file che appartiene a questo elemento è stato modificato.",
                "Aggiungi di nuovo il file, poi salva."
            )),
        ErrorEntry(
            18, "incompatibleVersion", "the data needs a newer version of the program", .afterAction,
            en: ("Update needed", "The shared data was made by a newer version.", "Update the app on this device."),
            it: (
                "Aggiornamento necessario", "I dati condivisi sono stati creati da una versione più recente.",
                "Aggiorna l’app su questo dispositivo."
            )),
    ]

    static let records: [ErrorEntry] = [
        ErrorEntry(
            19, "constraintViolation", "a value that has to be unique is there already", .afterAction, raised: false,
            en: ("Already in use", "A value that must be unique is used by another item.", "Choose another value, then save again."),
            it: (
                "Già in uso", "Un valore che deve essere unico è già usato da un altro elemento.",
                "Scegli un altro valore, poi salva di nuovo."
            )),
        ErrorEntry(
            20, "operationCancelled", "the caller cancelled it", .never,
            en: ("Cancelled", "The operation was cancelled.", "Start it again if you want it."),
            it: ("Annullato", "L’operazione è stata annullata.", "Avviala di nuovo se ti serve.")),
        ErrorEntry(
            21, "changeTokenExpired", "what the token continues is no longer kept; read the zone whole, then go on from the new token", .afterFetching,
            en: (
                "Reading everything again", "This device was away for a long time and has to read everything again.",
                "Refresh, and wait until everything is read."
            ),
            it: (
                "Rilettura completa", "Questo dispositivo è rimasto scollegato a lungo e deve rileggere tutto.",
                "Aggiorna e attendi la fine della lettura."
            )),
        ErrorEntry(
            22, "batchRequestFailed", "another record made the atomic request fail", .afterFetching,
            en: (
                "Nothing saved", "Nothing was saved, because another item could not be saved.",
                "Correct the item that failed, then save everything again."
            ),
            it: (
                "Niente salvato", "Non è stato salvato nulla, perché non è stato possibile salvare un altro elemento.",
                "Correggi l’elemento in errore, poi salva di nuovo tutto."
            )),
        ErrorEntry(
            23, "zoneBusy", "other devices published first again and again", .later,
            en: ("Busy", "Other devices are saving at the moment.", "Try again in a moment."),
            it: ("Occupato", "Altri dispositivi stanno salvando in questo momento.", "Riprova tra poco.")),
        ErrorEntry(
            24, "badDatabase", "the operation does not belong in this database (private, public or shared)", .never, raised: false,
            en: ("Wrong database", "This cannot be done in this database.", "Report it, with the details."),
            it: ("Database errato", "Questa operazione non è possibile in questo database.", "Segnala il problema con i dettagli.")),
        ErrorEntry(
            25, "quotaExceeded", "there is no room", .afterAction,
            en: ("No room left", "There is no room left for the shared data.", "Make room. Your changes are kept until then."),
            it: (
                "Spazio esaurito", "Non c’è più spazio per i dati condivisi.",
                "Libera spazio. Fino ad allora le tue modifiche restano salvate."
            )),
    ]

    static let zones: [ErrorEntry] = [
        ErrorEntry(
            26, "zoneNotFound", "there is no such zone", .afterAction,
            en: ("Nothing shared yet", "There is no shared data yet.", "Set sync up again, then sync."),
            it: (
                "Ancora nessun dato condiviso", "Non ci sono ancora dati condivisi.",
                "Configura di nuovo la sincronizzazione, poi sincronizza."
            )),
        ErrorEntry(
            27, "limitExceeded", "the request or a record is larger than allowed: split it in half", .afterAction,
            en: ("Too large", "This is too large to be saved at once.", "Save less at once, or make the item smaller."),
            it: (
                "Troppo grande", "È troppo grande per essere salvato in una volta.",
                "Salva meno elementi alla volta o riduci l’elemento."
            )),
        ErrorEntry(
            28, "userDeletedZone", "the zone was deleted on purpose", .afterAction,
            en: (
                "Shared data deleted", "The shared data was deleted on another device.",
                "Choose whether to keep, remove or upload again what is on this device."
            ),
            it: (
                "Dati condivisi eliminati", "I dati condivisi sono stati eliminati su un altro dispositivo.",
                "Scegli se conservare, rimuovere o caricare di nuovo ciò che è su questo dispositivo."
            )),
        ErrorEntry(
            28, "userDeletedZone", "the zone was signed or sealed, and goes on in another zone", .afterAction, as: .zoneMoved,
            en: (
                "Shared data moved", "The shared data was signed or encrypted, and goes on in another place.",
                "Sync once more; another device may have to approve this one."
            ),
            it: (
                "Dati condivisi spostati", "I dati condivisi sono stati firmati o cifrati e continuano in un’altra posizione.",
                "Sincronizza di nuovo; un altro dispositivo potrebbe dover approvare questo."
            )),
    ]

    static let shares: [ErrorEntry] = [
        ErrorEntry(
            29, "tooManyParticipants", "a share has as many participants as it can have", .afterAction, raised: false,
            en: (
                "Too many participants", "The share has as many people as it can have.",
                "Remove somebody from the share, then invite again."
            ),
            it: (
                "Troppi partecipanti", "La condivisione ha raggiunto il numero massimo di persone.",
                "Rimuovi qualcuno dalla condivisione, poi invita di nuovo."
            )
        ),
        ErrorEntry(
            30, "alreadyShared", "the record, or one above or beneath it, is part of another share", .afterAction, raised: false,
            en: ("Already shared", "This item is part of another share.", "Take it out of the other share first."),
            it: ("Già condiviso", "Questo elemento fa già parte di un’altra condivisione.", "Rimuovilo prima dall’altra condivisione.")),
        ErrorEntry(
            31, "referenceViolation", "a reference that needs its target has none", .afterAction,
            en: ("Link broken", "This belongs to something that no longer exists.", "Save what it belongs to first, then save this."),
            it: (
                "Collegamento mancante", "Questo elemento appartiene a qualcosa che non esiste più.",
                "Salva prima l’elemento a cui appartiene, poi questo."
            )),
        ErrorEntry(
            32, "managedAccountRestricted", "the account may not use the service", .afterAction,
            en: ("Account restricted", "This account may not use the shared data.", "Ask whoever manages the account."),
            it: ("Account limitato", "Questo account non può usare i dati condivisi.", "Chiedi a chi gestisce l’account.")),
        ErrorEntry(
            33, "participantMayNeedVerification", "the invited person has not been verified yet", .afterAction, raised: false,
            en: (
                "Confirm who you are", "You were invited, but it is not confirmed yet that the invitation is for you.",
                "Open the invitation’s link and confirm your address."
            ),
            it: (
                "Conferma la tua identità", "Hai ricevuto un invito, ma non è ancora confermato che sia per te.",
                "Apri il link dell’invito e conferma il tuo indirizzo."
            )),
        ErrorEntry(
            34, "serverResponseLost", "the answer was lost: the request may have succeeded; send the same request again", .later,
            en: ("No answer", "It is not certain that this was saved.", "Try again."),
            it: ("Nessuna risposta", "Non è certo che il salvataggio sia riuscito.", "Riprova.")),
        ErrorEntry(
            35, "assetNotAvailable", "a commit is there whose asset has not arrived", .later, as: .pending,
            en: ("Still on its way", "A part of the shared data has not arrived yet.", "Try again later."),
            it: ("Dati in arrivo", "Una parte dei dati condivisi non è ancora arrivata.", "Riprova più tardi.")),
        ErrorEntry(
            36, "accountTemporarilyUnavailable", "there is an account, and it cannot be used just now", .later,
            en: ("Account not available", "Your account is not available at the moment.", "Try again later, or sign in again."),
            it: ("Account non disponibile", "Il tuo account non è disponibile in questo momento.", "Riprova più tardi o accedi di nuovo.")),
    ]
}
