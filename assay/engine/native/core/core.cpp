// The C interface of the core: pointers and sizes. All input is checked here; the code behind it checks nothing.
#include <cstdio>
#include <type_traits>

#include "sampler.h"

using namespace assay;

namespace {

struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void require(bool condition, const char* what) {
    if (!condition) throw Refused(what);
}

void require_within(const int32_t* values, size_t count, int low, int high, const char* what) {
    for (size_t i = 0; i < count; i++)
        if (values[i] < low || values[i] >= high) {
            char text[160];
            std::snprintf(text, sizeof text, "%s number %zu is %d, expected %d to %d", what, i, values[i], low, high - 1);
            throw Refused(text);
        }
}

enum Answer : int32_t { RUNNING = 0, DONE = 1, FAILED = -1, CANCELLED = -2, NOT_FINITE = -3, CALLBACK = -4 };

}  // namespace

struct Core {
    Weights weights;
    std::string error;
    int32_t where[2] = {0, 0};
    Team team;
    std::unique_ptr<Sampler> sampler;
    Requests requests{};
    bool gathers = false;  // whether it was given tensors to add gradients to

    explicit Core(int threads) : team(threads) {}
};

// The packed rows as Python passes them; `Packed` in pass.h says what each array is.
struct PackedArrays {
    int32_t tokens, groups, rows, predicted, top;
    const int32_t *ids, *positions, *context_at, *row_at, *row_start, *row_length, *predict, *targets, *top_ids;
    const float* tau;
    const int32_t* beside;  // or null, and
    const float* share;
    const int32_t* stem_of;  // or null: there are no stems
};

namespace {

// Runs `what`. An exception becomes an error code, and a message where there is one.
template <class Do>
int32_t answer(Core* core, Do&& what) {
    try {
        return what();
    } catch (const Cancelled&) {
        core->error = "interrupted";
        return CANCELLED;
    } catch (const NotFinite& bad) {
        core->where[0] = bad.request, core->where[1] = bad.token;
        return NOT_FINITE;
    } catch (const CallbackFailed&) {
        return CALLBACK;
    } catch (const std::bad_alloc&) {
        core->error = "out of memory";
        return FAILED;
    } catch (const std::exception& error) {
        core->error = error.what();
        return FAILED;
    }
}

Packed packed_of(const Core& core, const PackedArrays& a) {
    const Shape& s = core.weights.shape;
    require(a.tokens > 0 && a.groups > 0 && a.rows >= 0 && a.predicted >= 0 && a.top >= 0, "a size is negative or zero");
    require_within(a.ids, a.tokens, 0, s.vocab, "token id");
    require_within(a.positions, a.tokens, 0, s.positions, "position");
    require_within(a.targets, a.predicted, 0, s.vocab, "response id");
    require_within(a.predict, a.predicted, 0, a.tokens, "predicting token");
    if (a.beside) require_within(a.beside, a.tokens, 0, s.vocab, "id beside");
    if (a.top) require_within(a.top_ids, size_t(a.predicted) * a.top, 0, s.vocab, "further id");
    require(a.context_at[0] == 0 && a.row_at[0] == 0 && a.row_at[a.groups] == a.rows, "offsets do not fit the sizes");
    if (a.stem_of) require_within(a.stem_of, a.groups, -1, a.groups, "stem");
    int next = a.context_at[a.groups], stems = a.stem_of ? *std::max_element(a.stem_of, a.stem_of + a.groups) + 1 : 0;
    for (int g = 0; g < a.groups; g++) {
        require(a.context_at[g] < a.context_at[g + 1] && a.context_at[g + 1] <= a.tokens, "a context is empty or too long");
        require(a.row_at[g] <= a.row_at[g + 1], "rows of groups are not in order");
        require(g >= stems || (a.stem_of[g] < 0 && a.row_at[g] == a.row_at[g + 1]), "a stem has a stem or rows");
    }
    for (int r = 0; r < a.rows; r++)
        require(a.row_length[r] >= 0 && a.row_start[r] >= next && a.row_start[r] <= a.tokens - a.row_length[r],
                "a row lies outside of the tokens");
    Packed p;
    p.ids.assign(a.ids, a.ids + a.tokens), p.positions.assign(a.positions, a.positions + a.tokens);
    p.context_at.assign(a.context_at, a.context_at + a.groups + 1);
    p.row_at.assign(a.row_at, a.row_at + a.groups + 1);
    p.row_start.assign(a.row_start, a.row_start + a.rows), p.row_length.assign(a.row_length, a.row_length + a.rows);
    p.predict.assign(a.predict, a.predict + a.predicted), p.targets.assign(a.targets, a.targets + a.predicted);
    p.tau.assign(a.tau, a.tau + a.predicted);
    p.top = a.top;
    if (a.top) p.top_ids.assign(a.top_ids, a.top_ids + size_t(a.predicted) * a.top);
    if (stems) p.stem_of.assign(a.stem_of, a.stem_of + a.groups), p.stems = stems;
    if (a.beside) p.beside.assign(a.beside, a.beside + a.tokens), p.share.assign(a.share, a.share + a.tokens);
    return p;
}

int32_t go_back(Core* core, Pass* pass, const Gradients& gradients) {
    return answer(core, [&] {
        require(core->weights.shape.learns && core->gathers, "this core was not given a place for gradients");
        pass->prepare_back(gradients);
        core->team.start([=](int number) { pass->backward(Hand{&core->team, number, core->team.size()}); });
        return DONE;
    });
}

}  // namespace

extern "C" {

int32_t assay_lanes() { return LANES; }

Core* assay_new(const Shape* shape, int32_t threads) {
    try {
        auto core = std::make_unique<Core>(threads);
        Weights& w = core->weights;
        const Shape& s = w.shape = *shape;
        w.layers.resize(s.layers);
        for (Layer& layer : w.layers) {
            layer.qkv.out = s.all_heads(), layer.qkv.in = s.hidden;
            layer.out.out = s.hidden, layer.out.in = s.queries();
            layer.up.out = 2 * s.ffn, layer.up.in = s.hidden;
            layer.down.out = s.hidden, layer.down.in = s.ffn;
        }
        w.head.out = s.vocab, w.head.in = s.hidden;
        w.each([&](Matrix& m) { m.reserve(s.learns); });
        return core.release();
    } catch (const std::exception&) {
        return nullptr;
    }
}

void assay_free(Core* core) { delete core; }
const char* assay_error(const Core* core) { return core->error.c_str(); }
void assay_where(const Core* core, int32_t* where) { where[0] = core->where[0], where[1] = core->where[1]; }
void assay_cancel(Core* core) { core->team.cancel(); }

// Waits for the job that was started last, at most so long. Answers whether it is done.
int32_t assay_wait(Core* core, int32_t milliseconds) {
    return answer(core, [&] {
        if (!core->team.wait(milliseconds)) return RUNNING;
        core->sampler.reset();  // its keys and values are not held while something else is done
        return DONE;
    });
}

// Takes the weights and starts to copy the matrices; one that is null stays as it is, or is copied by `assay_pack`. The
// table has 9 entries for each layer (weight and bias of qkv, out, up and down; weights of the query and key norms), then
// output layer, embedding, last norm, cosines, sines.
int32_t assay_take_weights(Core* core, const float* const* table) {
    return answer(core, [&] {
        Weights& w = core->weights;
        std::vector<const float*> given;
        for (Layer& layer : w.layers) {
            for (Matrix* m : {&layer.qkv, &layer.out, &layer.up, &layer.down})
                given.push_back(*table++), m->bias = *table++;
            layer.qk_weight = *table++;
        }
        given.push_back(*table++), w.embedding = *table++, w.final_norm = *table++;
        w.cosines = *table++, w.sines = *table++;
        core->team.start([core, given](int number) {
            Weights& now = core->weights;
            size_t i = 0;
            now.each([&](Matrix& m) {
                if (const float* weight = given[i++]) m.pack(weight, now.shape.learns, number, core->team.size());
            });
        });
        return DONE;
    });
}

// Copies matrix number `matrix` of all layers' (qkv, out, up and down of the first layer, ...) in the calling thread. Several
// threads may copy different matrices at the same time, while nothing else is done.
int32_t assay_pack(Core* core, int32_t matrix, const float* weight) {
    return answer(core, [&] {
        Weights& w = core->weights;
        require(matrix >= 0 && matrix < 4 * w.shape.layers && weight, "there is no such matrix");
        Layer& layer = w.layers[matrix / 4];
        Matrix* of_layer[] = {&layer.qkv, &layer.out, &layer.up, &layer.down};
        of_layer[matrix % 4]->pack(weight, w.shape.learns, 0, 1);
        return DONE;
    });
}

// Takes the tensors to add gradients to, in the order of the weights, up to the last norm.
int32_t assay_take_gradients(Core* core, float* const* table) {
    return answer(core, [&] {
        Weights& w = core->weights;
        for (Layer& layer : w.layers) {
            for (Matrix* m : {&layer.qkv, &layer.out, &layer.up, &layer.down})
                m->grad = *table++, m->bias_grad = *table++;
            layer.qk_grad = *table++;
        }
        w.head.grad = *table++, w.embedding_grad = *table++, w.final_grad = *table++;
        core->gathers = true;
        return DONE;
    });
}

// Takes the adapters of a network whose weights contain them, and starts to copy them: the rank of each of the four matrices
// of each layer, 0 if it has none, and for each matrix A and B.
int32_t assay_take_adapters(Core* core, const int32_t* ranks, const float* const* table) {
    return answer(core, [&] {
        core->weights.each_of_layers([&](Matrix& m) {
            Adapter& a = m.adapter;
            a.out = m.out, a.in = m.in, a.rank = *ranks++, a.down = *table++, a.up = *table++;
            require(a.rank == 0 || (a.rank > 0 && a.down && a.up), "an adapter has a rank, but no weights");
            a.reserve();
        });
        core->team.start([core](int number) {
            core->weights.each_of_layers([&](Matrix& m) { m.adapter.pack(number, core->team.size()); });
        });
        return DONE;
    });
}

// Takes the tensors to add the gradients of adapters to, in the order of the adapters. Nothing else is trained.
int32_t assay_take_adapter_gradients(Core* core, float* const* table) {
    return answer(core, [&] {
        core->weights.each_of_layers([&](Matrix& m) {
            m.adapter.down_grad = *table++, m.adapter.up_grad = *table++;
            require(!m.adapter.rank == !(m.adapter.down_grad && m.adapter.up_grad), "gradients do not fit the adapters");
        });
        core->gathers = true;
        return DONE;
    });
}

Pass* assay_pass_new(Core* core) { return new (std::nothrow) Pass(core->weights, core->team.size()); }
void assay_pass_free(Pass* pass) { delete pass; }

int32_t assay_forward(Core* core, Pass* pass, const PackedArrays* arrays, int32_t keep, float* logp, float* entropy,
                      float* top_logp, float* mean_logp, int32_t* likeliest, float* likeliest_logp, int32_t best) {
    return answer(core, [&] {
        require(best >= 0 && best <= core->weights.shape.vocab, "more of the likeliest are asked for than there are");
        require(keep >= 0 && keep <= 2, "what to keep is not one of three");
        pass->take(packed_of(*core, *arrays));
        pass->prepare(static_cast<Keep>(keep), true);
        Results out{logp, entropy, top_logp, mean_logp, likeliest, likeliest_logp, best};
        core->team.start([=](int number) {
            Hand hand{&core->team, number, core->team.size()};
            pass->forward(hand, [](int, const Number*) {});
            pass->read(hand, out);
        });
        return DONE;
    });
}

// The hidden states that predict the tokens, in place of what the output layer makes of them.
int32_t assay_states(Core* core, Pass* pass, const PackedArrays* arrays, int32_t keep, float* states) {
    return answer(core, [&] {
        require(keep >= 0 && keep <= 2, "what to keep is not one of three");
        pass->take(packed_of(*core, *arrays));
        pass->prepare(static_cast<Keep>(keep), false);
        core->team.start([=](int number) {
            Hand hand{&core->team, number, core->team.size()};
            pass->forward(hand, [](int, const Number*) {});
            pass->show(hand, states);
        });
        return DONE;
    });
}

int32_t assay_backward(Core* core, Pass* pass, const float* logp, const float* entropy, const float* top_logp) {
    return go_back(core, pass, Gradients{logp, entropy, top_logp});
}

// The backward pass that follows assay_states, from gradients by these states.
int32_t assay_pull_states(Core* core, Pass* pass, const float* states) {
    return go_back(core, pass, Gradients{nullptr, nullptr, nullptr, states});
}

// Runs contexts alone. `kept` [groups] receives the keys and values of each, [tokens, layers, held()], with one more
// vector behind; assay_free_rows frees them.
int32_t assay_prefill(Core* core, Pass* pass, const PackedArrays* arrays, float** kept) {
    return answer(core, [&] {
        Packed packed = packed_of(*core, *arrays);
        require(!packed.stems && !arrays->rows, "contexts that are run alone have no rows and no stems");
        const Shape& s = core->weights.shape;
        for (int g = 0; g < packed.groups(); g++) {
            size_t words = size_t(packed.size(g)) * s.layers * s.held() + LANES;
            if (!(kept[g] = static_cast<float*>(std::calloc(words, 4)))) throw std::bad_alloc();
        }
        std::vector<Known> nothing(packed.groups());  // is known of them, and all threads go through them together
        pass->take(std::move(packed), std::move(nothing));
        pass->prepare(Keep::nothing, false);
        core->team.start([=, &s](int number) {
            pass->forward(Hand{&core->team, number, core->team.size()}, [&](int layer, const Number* heads) {
                const Packed& in = pass->packed();
                for (int g = 0; g < in.groups(); g++)
                    for (int t = 0; t < in.size(g); t++)
                        put_numbers(heads + size_t(in.context_at[g] + t) * s.all_heads() + s.queries(), s.held(),
                                    kept[g] + (size_t(t) * s.layers + layer) * s.held());
            });
        });
        return DONE;
    });
}

void assay_free_rows(float* rows) { std::free(rows); }

int32_t assay_sample(Core* core, const Requests* requests) {
    return answer(core, [&] {
        const Requests& q = core->requests = *requests;
        const Shape& s = core->weights.shape;
        require(q.count > 0 && q.prompts > 0 && q.slots > 0 && q.prefill_tokens > 0, "a size is not positive");
        require(q.length <= s.positions, "a row is longer than the model's context");
        require_within(q.prompt_ids, q.prompt_at[q.prompts], 0, s.vocab, "prompt id");
        require_within(q.prompt_of, q.count, 0, q.prompts, "prompt of a request");
        for (int p = 0; q.piece_at && p < q.prompts; p++) {
            int64_t known = 0;
            for (int64_t i = q.piece_at[p]; i < q.piece_at[p + 1]; i++) {
                require(q.piece_size[i] > 0 && q.pieces[i], "a piece of a prompt is empty");
                known += q.piece_size[i];
            }
            require(known <= q.prompt_at[p + 1] - q.prompt_at[p], "more is known of a prompt than it has tokens");
        }
        for (int r = 0; r < q.count; r++) {
            int64_t size = q.size[r], most = q.prompt_at[q.prompt_of[r] + 1] - q.prompt_at[q.prompt_of[r]];
            require(r == 0 || q.prompt_of[r - 1] <= q.prompt_of[r], "requests are not sorted by prompt");
            require(size > 0 && size <= most, "a request begins with more tokens than its prompt has");
            require(q.max_new[r] > 0 && size + q.max_new[r] <= q.length, "a request does not fit its row");
            require(q.at[r + 1] - q.at[r] >= q.max_new[r], "a request has no room for its tokens");
            require(q.sampling[r].tau > 0.0f && q.sampling[r].top_k > 0, "a temperature or top-k is not positive");
            require(q.sampling[r].barred < 0 || q.barred, "a request bars tokens, but there are no flags of them");
            require(!q.may_stop[r] || q.stopped, "a request has stop strings, but there is no function to look for them");
        }
        core->sampler = std::make_unique<Sampler>(core->weights, q);
        core->team.start([core](int) { core->sampler->work(core->team); });
        return DONE;
    });
}

}  // extern "C"
