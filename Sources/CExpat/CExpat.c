#include "CExpat.h"

#include <CLoader.h>
#include <pthread.h>

static struct {
    XML_Parser (*create)(const XML_Char *);
    void (*free)(XML_Parser);
    void (*set_user_data)(XML_Parser, void *);
    void (*set_elements)(XML_Parser, XML_StartElementHandler, XML_EndElementHandler);
    void (*set_text)(XML_Parser, XML_CharacterDataHandler);
    void (*set_doctype)(XML_Parser, XML_StartDoctypeDeclHandler);
    enum XML_Status (*parse)(XML_Parser, const char *, int, int);
} expat;

static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#ifdef __APPLE__
    static const char *const names[] = {"libexpat.1.dylib", 0};
#else
    static const char *const names[] = {"libexpat.so.1", 0};
#endif
    static const struct snapsync_symbol symbols[] = {
        {"XML_ParserCreate", &expat.create},
        {"XML_ParserFree", &expat.free},
        {"XML_SetUserData", &expat.set_user_data},
        {"XML_SetElementHandler", &expat.set_elements},
        {"XML_SetCharacterDataHandler", &expat.set_text},
        {"XML_SetStartDoctypeDeclHandler", &expat.set_doctype},
        {"XML_Parse", &expat.parse},
        {0, 0},
    };
    is_loaded = snapsync_load(names, symbols);
}

int snapsync_expat_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

struct call {
    const struct snapsync_expat_handlers *handlers;
    void *context;
};

static void begin(void *data, const XML_Char *name, const XML_Char **attributes) {
    (void)attributes;
    struct call *call = data;
    call->handlers->begin(call->context, name);
}
static void end(void *data, const XML_Char *name) {
    (void)name;
    struct call *call = data;
    call->handlers->end(call->context);
}
static void text(void *data, const XML_Char *bytes, int count) {
    struct call *call = data;
    call->handlers->text(call->context, bytes, count);
}
static void doctype(void *data, const XML_Char *name, const XML_Char *system, const XML_Char *public, int has_internal) {
    (void)name, (void)system, (void)public, (void)has_internal;
    struct call *call = data;
    call->handlers->doctype(call->context);
}

int snapsync_expat_parse(const char *bytes, int count, const struct snapsync_expat_handlers *handlers, void *context) {
    XML_Parser parser = expat.create("UTF-8");
    if (!parser) return 0;
    struct call call = {handlers, context};
    expat.set_user_data(parser, &call);
    expat.set_elements(parser, begin, end);
    expat.set_text(parser, text);
    expat.set_doctype(parser, doctype);
    int is_well_formed = expat.parse(parser, bytes, count, 1) == XML_STATUS_OK;
    expat.free(parser);
    return is_well_formed;
}
