/* Stands in for NVIDIA's driver, which needs a GPU that nobody has in tests: a libnvidia-ml.so.1 with the functions that
 * the collector calls, as nvml.h of NVIDIA's package nvidia-nvml-dev 13.4 declares them: same arguments, structures,
 * codes. What it does not show: how a real driver behaves; only that the collector reads this interface as documented.
 *
 * It states what a test has put in by stand_in_number and stand_in_text; all else is "not supported". OLD_DRIVER leaves
 * out the functions that came after driver 470.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 128, XID_EVENT = 8, TIMED_OUT = 10 };
enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, VERSION_MISMATCH = 25 };
enum { STATED_MAX = 4096, DEVICES_MAX = 64, TEXT_MAX = 96, GPM_METRICS = 477, GPM_KNOWN = 210 };

typedef struct { unsigned number; } Device;
typedef unsigned long long Wide;

typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { Wide total, free, used; } Memory;
typedef struct { unsigned version; Wide total, reserved, free, used; } MemoryV2;
typedef struct { Wide total, free, used; } Bar1;
typedef struct { unsigned max, high, partial, low, none; } RowRemapper;
typedef struct { unsigned version, sensor; int temperature; } Temperature;
typedef struct { unsigned version; int margin; } Margin;
typedef struct {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device, pci_subsystem;
    char bus_id[32];
} Pci;
typedef struct {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    unsigned type;
    int code;
    union { double number; int signed_number; unsigned unsigned_number; Wide wide; long long signed_wide; unsigned short small; } value;
} FieldValue;

typedef struct { Device *device; Wide type, data; unsigned gpu_instance, compute_instance; } Event;
typedef struct { Device *watched[DEVICES_MAX]; Event events[EVENTS_MAX]; unsigned watched_count, count; } EventSet;
typedef struct { unsigned version, is_supported; } GpmSupport;
typedef struct { unsigned metric; int code; double value; const char *names[3]; } GpmMetric;
typedef struct { unsigned device; long long counted[GPM_METRICS]; } GpmSample;
typedef struct { unsigned version, count; GpmSample *first, *second; GpmMetric metrics[GPM_METRICS]; } GpmMetrics;

_Static_assert(sizeof(Event) == 32, "nvmlEventData_t");
_Static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetrics, metrics) == 24, "nvmlGpmMetricsGet_t");
_Static_assert(sizeof(Pci) == 68 && offsetof(Pci, bus_id) == 36, "nvmlPciInfo_t");
_Static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, code) == 28, "nvmlFieldValue_t");
_Static_assert(sizeof(MemoryV2) == 40 && sizeof(Temperature) == 12 && sizeof(Margin) == 8, "versioned structures");
#define VERSION(type, number) (unsigned)(sizeof(type) | (number) << 24) /* NVML_STRUCT_VERSION */

typedef struct {
    unsigned device;
    char name[TEXT_MAX];
    unsigned argument, scope, type;
    int code;
    long long number;
    char text[TEXT_MAX];
} Stated;

static Stated stated[STATED_MAX];
static unsigned stated_count, device_count;
static int initialised, init_code, gpm_samples;
static Device devices[DEVICES_MAX];
static EventSet *event_sets[DEVICES_MAX];
static unsigned event_set_count;
static char hanging[TEXT_MAX];
static unsigned waiting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* For tests. A device is a GPU by its index, or a MIG instance by a number of its own above them. */

static Stated *of(unsigned device, const char *name, unsigned argument, unsigned scope) {
    for (unsigned place = 0; place < stated_count; place++) {
        Stated *one = &stated[place];
        if (one->device == device && one->argument == argument && one->scope == scope && !strcmp(one->name, name))
            return one;
    }
    return NULL;
}

static Stated *put(unsigned device, const char *name, unsigned argument, unsigned scope) {
    Stated *one = of(device, name, argument, scope);
    if (one == NULL) {
        one = &stated[stated_count++];
        memset(one, 0, sizeof *one);
        one->device = device, one->argument = argument, one->scope = scope;
        strncpy(one->name, name, TEXT_MAX - 1);
    }
    one->code = SUCCESS;
    return one;
}

void stand_in_begin(unsigned gpus, int code) {
    event_set_count = 0;
    stated_count = 0, device_count = gpus, initialised = 0, init_code = code, gpm_samples = 0, hanging[0] = 0;
}

void stand_in_number(unsigned device, const char *name, unsigned argument, long long number) {
    put(device, name, argument, 0)->number = number;
}

void stand_in_text(unsigned device, const char *name, const char *text) {
    strncpy(put(device, name, 0, 0)->text, text, TEXT_MAX - 1);
}

void stand_in_field(unsigned device, unsigned field, unsigned scope, unsigned type, long long number) {
    Stated *one = put(device, "field", field, scope);
    one->type = type, one->number = number;
}

void stand_in_code(unsigned device, const char *name, unsigned argument, unsigned scope, int code) {
    put(device, name, argument, scope)->code = code;
}

/* A function that does not return until stand_in_release. */
void stand_in_hang(const char *name) { strncpy(hanging, name, TEXT_MAX - 1); }

void stand_in_release(void) {
    pthread_mutex_lock(&lock);
    hanging[0] = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

unsigned stand_in_waiting(void) { return waiting; }

int stand_in_initialised(void) { return initialised; }

/* An XID of this GPU, for each set of events in which it is. */
void stand_in_xid(unsigned device, unsigned code, unsigned instance) {
    for (unsigned set = 0; set < event_set_count; set++)
        for (unsigned place = 0; event_sets[set] != NULL && place < event_sets[set]->watched_count; place++)
            if (event_sets[set]->watched[place] == &devices[device])
                event_sets[set]->events[event_sets[set]->count++] = (Event){&devices[device], XID_EVENT, code, instance, ~0u};
}

unsigned stand_in_event_sets(void) {
    unsigned open = 0;
    for (unsigned set = 0; set < event_set_count; set++)
        open += event_sets[set] != NULL;
    return open;
}

/* Of GPM, that are not freed. */
int stand_in_gpm_samples(void) { return gpm_samples; }

/* What a function does before all else. */
static int enter(const char *name) {
    pthread_mutex_lock(&lock);
    waiting++;
    while (!strcmp(hanging, name))
        pthread_cond_wait(&changed, &lock);
    waiting--;
    pthread_mutex_unlock(&lock);
    return initialised ? SUCCESS : UNINITIALIZED;
}

static int ask(Device *device, const char *name, unsigned argument, long long *number) {
    int code = enter(name);
    if (code)
        return code;
    if (device < devices || device >= devices + DEVICES_MAX)
        return INVALID_ARGUMENT;
    Stated *one = of(device->number, name, argument, 0);
    if (one == NULL)
        return NOT_SUPPORTED;
    *number = one->number;
    return one->code;
}

static int ask_text(Device *device, const char *name, char *text, unsigned length) {
    long long ignored;
    int code = ask(device, name, 0, &ignored);
    if (!code)
        strncpy(text, of(device->number, name, 0, 0)->text, length);
    return code;
}

/* The members of a structure, by their places in it. */
static int ask_all(Device *device, const char *name, unsigned count, long long *numbers) {
    int code = SUCCESS;
    for (unsigned place = 0; place < count && !code; place++)
        code = ask(device, name, place, &numbers[place]);
    return code;
}

static Device *device_of(unsigned number) {
    devices[number].number = number;
    return &devices[number];
}

/* nvml.h */

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    enter(__func__);
    if (!init_code)
        initialised++;
    return init_code;
}

int nvmlShutdown(void) {
    int code = enter(__func__);
    if (!code)
        initialised--;
    return code;
}

const char *nvmlErrorString(int code) {
    (void)code;
    return "an error";
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    return ask_text(device_of(0), __func__, version, length);
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = device_count;
    return enter(__func__);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **device) {
    int code = enter(__func__);
    if (!code && index >= device_count)
        code = INVALID_ARGUMENT;
    Stated *one = of(index, __func__, 0, 0);
    if (!code && one != NULL)
        code = one->code;
    *device = device_of(index);
    return code;
}

#define TEXT(name)                                                                                                     \
    int name(Device *device, char *text, unsigned length) { return ask_text(device, #name, text, length); }
#define NUMBER(name, type)                                                                                             \
    int name(Device *device, type *number) {                                                                           \
        long long found;                                                                                               \
        int code = ask(device, #name, 0, &found);                                                                      \
        if (!code)                                                                                                     \
            *number = (type)found;                                                                                     \
        return code;                                                                                                   \
    }
#define NUMBER_OF(name)                                                                                                \
    int name(Device *device, unsigned which, unsigned *number) {                                                       \
        long long found;                                                                                               \
        int code = ask(device, #name, which, &found);                                                                  \
        if (!code)                                                                                                     \
            *number = (unsigned)found;                                                                                 \
        return code;                                                                                                   \
    }
#define PAIR(name)                                                                                                     \
    int name(Device *device, unsigned *first, unsigned *second) {                                                      \
        long long found[2];                                                                                            \
        int code = ask_all(device, #name, 2, found);                                                                   \
        if (!code)                                                                                                     \
            *first = (unsigned)found[0], *second = (unsigned)found[1];                                                 \
        return code;                                                                                                   \
    }

TEXT(nvmlDeviceGetUUID)
TEXT(nvmlDeviceGetName)
TEXT(nvmlDeviceGetSerial)
NUMBER_OF(nvmlDeviceGetClockInfo)
NUMBER_OF(nvmlDeviceGetMaxClockInfo)
NUMBER_OF(nvmlDeviceGetApplicationsClock)
NUMBER_OF(nvmlDeviceGetTemperature)
NUMBER_OF(nvmlDeviceGetTemperatureThreshold)
NUMBER_OF(nvmlDeviceGetPcieThroughput)
NUMBER_OF(nvmlDeviceGetNvLinkState)
NUMBER(nvmlDeviceGetPowerUsage, unsigned)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned)
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned)
NUMBER(nvmlDeviceGetFanSpeed, unsigned)
NUMBER(nvmlDeviceGetPerformanceState, unsigned)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned)
NUMBER(nvmlDeviceGetMaxMigDeviceCount, unsigned)
NUMBER(nvmlDeviceGetGpuInstanceId, unsigned)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, Wide)
PAIR(nvmlDeviceGetPowerManagementLimitConstraints)
PAIR(nvmlDeviceGetEncoderUtilization)
PAIR(nvmlDeviceGetDecoderUtilization)
PAIR(nvmlDeviceGetMigMode)

int nvmlDeviceGetUtilizationRates(Device *device, Utilization *rates) {
    long long found[2];
    int code = ask_all(device, __func__, 2, found);
    if (!code)
        *rates = (Utilization){(unsigned)found[0], (unsigned)found[1]};
    return code;
}

int nvmlDeviceGetMemoryInfo(Device *device, Memory *memory) {
    long long found[3];
    int code = ask_all(device, __func__, 3, found);
    if (!code)
        *memory = (Memory){(Wide)found[0], (Wide)found[1], (Wide)found[2]};
    return code;
}

int nvmlDeviceGetBAR1MemoryInfo(Device *device, Bar1 *memory) {
    long long found[3];
    int code = ask_all(device, __func__, 3, found);
    if (!code)
        *memory = (Bar1){(Wide)found[0], (Wide)found[1], (Wide)found[2]};
    return code;
}

int nvmlDeviceGetRowRemapperHistogram(Device *device, RowRemapper *banks) {
    long long found[5];
    int code = ask_all(device, __func__, 5, found);
    if (!code)
        *banks = (RowRemapper){(unsigned)found[0], (unsigned)found[1], (unsigned)found[2], (unsigned)found[3], (unsigned)found[4]};
    return code;
}

int nvmlDeviceGetPciInfo_v3(Device *device, Pci *pci) {
    memset(pci, 0, sizeof *pci);
    return ask_text(device, __func__, pci->bus_id, sizeof pci->bus_id);
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned index, Device **instance) {
    long long found;
    int code = ask(device, __func__, index, &found);
    if (!code)
        *instance = device_of((unsigned)found);
    return code == NOT_SUPPORTED ? 6 /* NOT_FOUND */ : code;
}

int nvmlDeviceGetFieldValues(Device *device, int count, FieldValue *values) {
    int code = enter(__func__);
    Stated *whole = of(device->number, __func__, 0, 0);
    if (!code && whole != NULL)
        code = whole->code;
    for (int place = 0; place < count && !code; place++) {
        FieldValue *value = &values[place];
        Stated *one = of(device->number, "field", value->field, value->scope);
        memset(&value->value, 0xA5, sizeof value->value); /* undefined where there is an error */
        value->code = one == NULL ? NOT_SUPPORTED : one->code;
        if (value->code)
            continue;
        value->type = one->type;
        switch (one->type) {
        case 0: value->value.number = (double)one->number; break;
        case 1: value->value.unsigned_number = (unsigned)one->number; break;
        case 2: case 3: value->value.wide = (Wide)one->number; break;
        case 4: value->value.signed_wide = one->number; break;
        case 5: value->value.signed_number = (int)one->number; break;
        case 6: value->value.small = (unsigned short)one->number; break;
        }
    }
    return code;
}

int nvmlEventSetCreate(EventSet **set) {
    *set = event_sets[event_set_count++] = calloc(1, sizeof **set);
    return enter(__func__);
}

int nvmlEventSetFree(EventSet *set) {
    for (unsigned place = 0; place < event_set_count; place++)
        if (event_sets[place] == set)
            event_sets[place] = NULL;
    free(set);
    return enter(__func__);
}

int nvmlDeviceRegisterEvents(Device *device, Wide types, EventSet *set) {
    long long ignored;
    int code = ask(device, __func__, 0, &ignored); /* a GPU without events, unless a test says that it has them */
    if (!code && types == XID_EVENT)
        set->watched[set->watched_count++] = device;
    return code;
}

int nvmlEventSetWait_v2(EventSet *set, Event *event, unsigned timeout_ms) {
    (void)timeout_ms;
    int code = enter(__func__);
    if (!code && set->count == 0)
        code = TIMED_OUT;
    if (!code) {
        *event = set->events[0];
        memmove(set->events, set->events + 1, --set->count * sizeof *event);
    }
    return code;
}

#ifndef OLD_DRIVER
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, Wide)

/* "gpm" numbers are counters by metric, in 1/10000 of a metric's unit. As driver 580 does it, a metric that the GPU does
 * not have is 0, one that the driver does not have an invalid argument. */
int nvmlGpmQueryDeviceSupport(Device *device, GpmSupport *support) {
    long long found = 0;
    int code = ask(device, __func__, 0, &found);
    if (support->version != 1)
        return VERSION_MISMATCH;
    support->is_supported = (unsigned)found;
    return code == NOT_SUPPORTED ? SUCCESS : code;
}

int nvmlGpmSampleAlloc(GpmSample **sample) {
    *sample = calloc(1, sizeof **sample);
    gpm_samples++;
    return enter(__func__);
}

int nvmlGpmSampleFree(GpmSample *sample) {
    free(sample);
    gpm_samples--;
    return enter(__func__);
}

static int gpm_take(Device *device, GpmSample *sample) {
    memset(sample, 0, sizeof *sample);
    sample->device = device->number;
    for (unsigned metric = 0; metric < GPM_METRICS; metric++) {
        Stated *one = of(device->number, "gpm", metric, 0);
        if (one != NULL)
            sample->counted[metric] = one->number;
    }
    return SUCCESS;
}

int nvmlGpmSampleGet(Device *device, GpmSample *sample) {
    Stated *whole = of(device->number, __func__, 0, 0);
    int code = enter(__func__);
    if (!code && whole != NULL)
        code = whole->code;
    return code ? code : gpm_take(device, sample);
}

int nvmlGpmMigSampleGet(Device *device, unsigned instance, GpmSample *sample) {
    long long found;
    int code = ask(device, __func__, instance, &found); /* the number of the instance's device */
    return code ? code : gpm_take(device_of((unsigned)found), sample);
}

int nvmlGpmMetricsGet(GpmMetrics *asked) {
    int code = enter(__func__);
    if (asked->version != 1)
        return VERSION_MISMATCH;
    if (asked->first == asked->second || asked->first->device != asked->second->device)
        return INVALID_ARGUMENT;
    for (unsigned place = 0; place < asked->count && !code; place++) {
        GpmMetric *metric = &asked->metrics[place];
        Stated *one = of(asked->second->device, "gpm", metric->metric, 0);
        memset(&metric->value, 0xA5, sizeof metric->value); /* undefined where there is an error */
        metric->code = metric->metric >= GPM_KNOWN ? INVALID_ARGUMENT : one == NULL ? SUCCESS : one->code;
        if (!metric->code)
            metric->value =
                (double)(asked->second->counted[metric->metric] - asked->first->counted[metric->metric]) / 1e4;
    }
    return code;
}

int nvmlDeviceGetMemoryInfo_v2(Device *device, MemoryV2 *memory) {
    long long found[4];
    if (memory->version != VERSION(MemoryV2, 2))
        return VERSION_MISMATCH;
    int code = ask_all(device, __func__, 4, found);
    if (!code)
        *memory = (MemoryV2){memory->version, (Wide)found[0], (Wide)found[1], (Wide)found[2], (Wide)found[3]};
    return code;
}

int nvmlDeviceGetTemperatureV(Device *device, Temperature *temperature) {
    long long found;
    if (temperature->version != VERSION(Temperature, 1))
        return VERSION_MISMATCH;
    int code = ask(device, __func__, temperature->sensor, &found);
    if (!code)
        temperature->temperature = (int)found;
    return code;
}

int nvmlDeviceGetMarginTemperature(Device *device, Margin *margin) {
    long long found;
    if (margin->version != VERSION(Margin, 1))
        return VERSION_MISMATCH;
    int code = ask(device, __func__, 0, &found);
    if (!code)
        margin->margin = (int)found;
    return code;
}
#endif
